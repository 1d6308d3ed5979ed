// The receive instructions and receive markers.
#include "vm/process/mailbox.hpp"

#include "vm/process/engine_calls.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/process/timers.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace minivm {

namespace {

// A message up to this size is moved into the heap when it is examined, if there is room: its
// fragment is freed at once, and no collection has to copy it.
constexpr size_t kAbsorbedWords = 256;

// But each such message that stays in the queue is a root of every collection. So only the first few are moved
// (Mailbox::kMostAbsorbed): a process may examine half a million messages again and again.

// A process that allocates nothing is scheduled out when so many words wait for a collection.
constexpr size_t kMostReceivedWords = size_t{1} << 16;

// Whether the message before the one under examination, if any, is on the heap already.
bool follows_absorbed(const Mailbox& box) {
    return box.save == &box.first ||
           reinterpret_cast<const Signal*>(reinterpret_cast<const char*>(box.save) -
                                           offsetof(Signal, next))
               ->on_heap;
}

void absorb_message(Process& p, Signal& m) {
    if (p.mailbox.on_heap_count >= Mailbox::kMostAbsorbed || !follows_absorbed(p.mailbox) ||
        m.fragments->next != nullptr || m.fragments->used_words > kAbsorbedWords ||
        !absorb_fragment(p.heap, m.fragments, m.off_heap, m.off_heap_bytes, &m.term)) {
        return;
    }
    m.fragments = nullptr;
    m.off_heap = nullptr;
    m.off_heap_bytes = 0;
    m.on_heap = true;
    p.mailbox.on_heap_count++;
}

// Removes the message that *link points to from the queue, and every pointer to its `next`.
void unlink_message(Process& p, Signal** link) {
    Mailbox& box = p.mailbox;
    Signal* m = *link;
    *link = m->next;
    if (box.last == &m->next) {
        box.last = link;
    }
    if (box.save == &m->next) {
        box.save = link;
    }
    if (box.priority_end == &m->next) {
        box.priority_end = link;
    }
    if (p.extra != nullptr && p.extra->marker_count != 0) {
        for (ReceiveMarker& marker : p.extra->markers) {
            if (marker.id != 0 && marker.position == &m->next) {
                marker.position = link;
            }
        }
    }
    box.length--;
    if (watchers::any(p, watchers::kLongQueueTold)) {
        system_monitor::queue_changed(p);
    }
    if (m->on_heap) {
        box.on_heap_count--;
    }
}

}  // namespace

Term mailbox_peek(Process& p) {
    Mailbox& box = p.mailbox;
    Signal* m = *box.save;
    if (m == nullptr) {
        p.in_receive_examine = false;
        if (has_signals(p)) {
            handle_signals(p);
            m = *box.save;
        }
        if (m == nullptr || p.exit_signal != nullptr) {
            return kNonValue;
        }
    }
    if (m->fragments != nullptr && !m->on_heap) {
        absorb_message(p, *m);
    }
    p.in_receive_examine = m->fragments != nullptr;
    return m->term;
}

// The fun that prim_eval:receive/2 asks may have received the message that it was asked about.
void mailbox_next(Process& p) {
    p.in_receive_examine = false;
    if (Signal* const m = *p.mailbox.save) {
        p.mailbox.save = &m->next;
    }
}

void mailbox_remove(Process& p) {
    Mailbox& box = p.mailbox;
    Signal* m = *box.save;
    if (MINIVM_UNLIKELY(m == nullptr)) {
        return;  // see mailbox_next()
    }
    unlink_message(p, box.save);
    probe::took(p, *m);
    if (m->fragments != nullptr || m->off_heap != nullptr) {
        attach_received(p.heap, m->fragments, m->off_heap, m->off_heap_bytes);
        if (MINIVM_UNLIKELY(p.heap.fragment_words > kMostReceivedWords)) {
            p.reductions = 1;  // the next call ends the slice, and the next one begins with a collection
        }
        m->fragments = nullptr;
        m->off_heap = nullptr;
    }
    free_signal(m);
    box.save = &box.first;
    p.in_receive_examine = false;
    cancel_receive_timeout(p);
}

void mailbox_timeout(Process& p) {
    probe::timed_out(p);
    p.mailbox.save = &p.mailbox.first;
    p.in_receive_examine = false;
    cancel_receive_timeout(p);
}

bool flush_down_message(Process& p, RefId ref) {
    if (has_signals(p)) {
        handle_signals(p);
    }
    for (Signal** link = &p.mailbox.first; *link != nullptr; link = &(*link)->next) {
        const Term t = (*link)->term;
        if (!is_tuple_of(t, 5)) {
            continue;
        }
        const Term r = tuple_element(t, 1);
        if (is_local_ref(r) && ref_id(r) == ref) {
            Signal* m = *link;
            unlink_message(p, link);
            free_signal(m);
            return true;
        }
    }
    return false;
}

// ---- receive markers ----------------------------------------------------------------------------
// A marker remembers the end of the queue when a reference was about to be made; a receive that only
// matches messages with that reference starts there. Messages in the outer queue count as after the
// marker: the receive examines them once, and then they lie before later markers.

Term recv_marker_reserve(Process& p) {
    ProcessExtra& extra = extra_of(p);
    ReceiveMarker* place = nullptr;
    for (ReceiveMarker& marker : extra.markers) {
        if (marker.id == 0) {
            place = &marker;
            break;
        }
        // If all are in use, the oldest is reused.
        if (place == nullptr || marker.id < place->id) {
            place = &marker;
        }
    }
    if (place->id == 0) {
        extra.marker_count++;
    }
    place->id = extra.next_marker_id++;
    place->bound = false;
    place->position = p.mailbox.last;
    return make_small(place->id);
}

void recv_marker_bind(Process& p, Term marker, Term reference) {
    if (p.extra == nullptr || !is_small(marker)) {
        return;
    }
    for (ReceiveMarker& m : p.extra->markers) {
        if (m.id != 0 && m.id == small_value(marker)) {
            if (is_local_ref(reference)) {
                m.bound = true;
                m.ref = ref_id(reference);
            } else {
                m.id = 0;
                p.extra->marker_count--;
            }
            return;
        }
    }
}

static ReceiveMarker* find_marker(Process& p, Term reference) {
    if (p.extra == nullptr || p.extra->marker_count == 0 || !is_local_ref(reference)) {
        return nullptr;
    }
    const RefId id = ref_id(reference);
    for (ReceiveMarker& m : p.extra->markers) {
        if (m.id != 0 && m.bound && m.ref == id) {
            return &m;
        }
    }
    return nullptr;
}

void recv_marker_clear(Process& p, Term reference) {
    if (ReceiveMarker* m = find_marker(p, reference)) {
        m->id = 0;
        p.extra->marker_count--;
    }
}

void recv_marker_use(Process& p, Term reference) {
    if (ReceiveMarker* m = find_marker(p, reference)) {
        // Priority messages may have come since; they are before all markers.
        Mailbox& box = p.mailbox;
        box.save = box.priority_end != &box.first ? &box.first : m->position;
    }
}

// ---- registers of a process that is scheduled out -----------------------------------------------

void save_x_registers(Process& p, const Term* x, uint32_t live) {
    // No loaded function takes more. A decoded fun may claim more together with its free variables: its call
    // fails with the arguments, which come first.
    constexpr uint32_t kMostKept = 255;
    live = live < kMostKept ? live : kMostKept;
    // The word before saved_x holds its capacity.
    if (live != 0 && (p.saved_x == nullptr || p.saved_x[-1].raw < live)) {
        const size_t capacity = live < 4 ? 4 : live;
        void* memory =
            std::realloc(p.saved_x == nullptr ? nullptr : static_cast<void*>(p.saved_x - 1),
                         (capacity + 1) * sizeof(Term));
        MINIVM_CHECK(memory != nullptr);
        p.saved_x = static_cast<Term*>(memory) + 1;
        p.saved_x[-1] = Term{capacity};
    }
    if (live != 0) {
        std::memcpy(p.saved_x, x, live * sizeof(Term));
    }
    p.live_x = static_cast<uint8_t>(live);
}

void restore_x_registers(Process& p, Term* x) {
    if (p.live_x != 0) {
        std::memcpy(x, p.saved_x, p.live_x * sizeof(Term));
    }
}

void free_saved_x(Process& p) {
    if (p.saved_x != nullptr) {
        std::free(p.saved_x - 1);
        p.saved_x = nullptr;
    }
}

}  // namespace minivm
