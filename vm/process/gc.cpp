#include "vm/process/gc.hpp"

#include <algorithm>
#include <utility>

#include "vm/heap/collector.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/report.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/util/activity.hpp"

namespace minivm {

namespace {

#ifdef MINIVM_DEBUG
constexpr size_t kVerifiedWords = 20000;
#endif

// Visits messages that have become part of the heap but have not been received yet, and the roots in `extra`.
void visit_others(void* process, Roots::Visit visit, void* context) {
    auto& p = *static_cast<Process*>(process);
    uint32_t on_heap = p.mailbox.on_heap_count;
    for (Signal* message = p.mailbox.first; on_heap != 0; message = message->next) {
        MINIVM_ASSERT(message != nullptr);
        if (message->on_heap) {
            visit(&message->term, context);
            on_heap--;
        }
    }
    visit_extra_roots(p, visit, context);
}

// Words that count against max_heap_size: the heaps with their free words, the messages in the queue
// unless they are kept off the heap and, if the process asked for it, the off-heap binaries of the heaps.
size_t limited_words(const Process& p) {
    size_t words = heap_capacity_words(p);
    if (!p.message_queue_off_heap) {
        for (const Signal* s = p.mailbox.first; s != nullptr; s = s->next) {
            for (const Fragment* f = s->fragments; f != nullptr; f = f->next) {
                words += f->size_words;
            }
        }
    }
    if (p.extra->max_heap_shared) {
        words += (p.heap.off_heap_bytes + p.old_off_heap_bytes) / sizeof(Term);
    }
    return words;
}

// If the process has more than it may, ends it as by exit(Pid, kill), soon.
void check_max_heap(Process& p, size_t before_words) {
    const size_t total = std::max(before_words, limited_words(p));
    ProcessExtra& extra = *p.extra;
    if (total <= extra.max_heap_words || p.is_exiting() || extra.max_heap_reached) {
        return;
    }
    if (extra.max_heap_log) {
        report_max_heap(p, total);
    }
    if (extra.max_heap_kill) {
        extra.max_heap_reached = true;
        send_exit(p.id, p.id, atoms::kill, false);
        set_reductions_left(p, 0);
    }
}

}  // namespace

void attach_examined_message(Process& p) {
    if (!p.in_receive_examine || p.mailbox.save == nullptr) {
        return;
    }
    Signal* message = *p.mailbox.save;
    if (message == nullptr || message->on_heap) {
        return;
    }
    attach_fragments(p.heap, message->fragments, message->off_heap, message->off_heap_bytes);
    message->fragments = nullptr;
    message->off_heap = nullptr;
    message->off_heap_bytes = 0;
    message->on_heap = true;
    p.mailbox.on_heap_count++;
}

Roots roots_of(Process& p, Term* x, size_t live) {
    Roots roots;
    roots.add(x, live);
    if (p.x == nullptr && p.saved_x != nullptr && p.saved_x != x) {
        roots.add(p.saved_x, p.live_x);
    }
    roots.add(&p.group_leader, 1);
    roots.add(p.exception.terms(), Exception::kTerms);
    if (p.mailbox.on_heap_count != 0 || p.extra != nullptr) {
        roots.add_others(visit_others, &p);
    }
    return roots;
}

void verify_heap(Process& p) { verify_heap(p, roots_of(p, nullptr, 0)); }

GcResult collect_gc(Process& p, size_t need_words, Term* x, size_t live, bool major) {
    const activity::While collects(activity::Activity::gc);
    merge_received(p.heap);
    const bool limited = p.extra != nullptr && p.extra->max_heap_words != 0;
    const size_t limited_before = limited ? limited_words(p) : 0;
    attach_examined_message(p);
    need_words += std::exchange(p.gc_room_words, 0);
    GcResult result;
    result.before_words = p.used_words();
    result.major = major || !minor_is_enough(p);
    const probe::Collection collection(p, result.major, need_words);
    const Roots roots = roots_of(p, x, live);
    result.after_words = collect(p, roots, need_words, result.major);
    if (MINIVM_UNLIKELY(limited)) {
        check_max_heap(p, limited_before);
    }
    count_collection(result.before_words - result.after_words);
    collection.ended(result);
#ifdef MINIVM_DEBUG
    if (result.after_words < kVerifiedWords) {
        verify_heap(p, roots);
    }
#endif
    return result;
}

GcResult shrink_gc(Process& p, Term* x, size_t live) {
    p.drop_frame_pointers();
    const GcResult result = collect_gc(p, 0, x, live, true);
    shrink_block(p, roots_of(p, x, live));
    return result;
}

}  // namespace minivm
