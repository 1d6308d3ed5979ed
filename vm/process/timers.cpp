#include "vm/process/timers.hpp"

#include "recorder/recorder.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/scheduling.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/record/record.hpp"

#include <utility>

namespace minivm {

// ---- the timeout of a receive ---------------------------------------------------------------------

namespace {

// In place of a wheel: the receive waits for ever. Only the address is used.
const char g_for_ever = 0;
bool waits_for_ever(const Process& p) {
    return p.receive_timer.wheel == reinterpret_cast<const TimerWheel*>(&g_for_ever);
}

}  // namespace

void set_receive_for_ever(Process& p) {
    MINIVM_ASSERT(p.receive_timer.wheel == nullptr);
    p.receive_timer.wheel = reinterpret_cast<TimerWheel*>(const_cast<char*>(&g_for_ever));
}

void set_receive_timeout(Process& p, uint64_t ms) {
    MINIVM_ASSERT(p.receive_timer.wheel == nullptr);
    p.receive_timer.is_receive = true;
    p.receive_timer.due_ms = 0;
    // At least ms milliseconds from now: the present time is rounded up to a whole millisecond.
    p.scheduler->timers->set(&p.receive_timer, (monotonic_ns() + 999999) / 1000000 + ms);
    MINIVM_EVENT_COARSE(receive_timer, records::subject(p.id), ms * 1000000);
}

bool has_receive_timeout(const Process& p) { return p.receive_timer.wheel != nullptr; }

void cancel_receive_timeout(Process& p) {
    if (MINIVM_LIKELY(p.receive_timer.wheel == nullptr)) {
        return;
    }
    if (!waits_for_ever(p) && !p.receive_timer.wheel->cancel(&p.receive_timer)) {
        // It has fired completely, because it fires under the wheel's lock, which we had.
        // relaxed: the bit was set under that lock.
        p.state.fetch_and(~process_state::kTimedOut, std::memory_order_relaxed);
    }
    p.receive_timer.wheel = nullptr;
}

bool take_timed_out(Process& p) {
    // Only if the process was waiting: otherwise it has messages to examine first, and takes the timeout when
    // it next waits.
    // relaxed: set before the process was queued.
    if (!p.was_waiting ||
        (p.state.load(std::memory_order_relaxed) & process_state::kTimedOut) == 0) {
        return false;
    }
    p.was_waiting = false;
    // relaxed: as above.
    p.state.fetch_and(~process_state::kTimedOut, std::memory_order_relaxed);
    MINIVM_EVENT(receive_timeout, records::subject(p.id));
    return true;
}

void fire_receive_timer(TimerNode* node) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof"  // conditionally supported; these compilers do
    Process* p = reinterpret_cast<Process*>(reinterpret_cast<char*>(node) -
                                            offsetof(Process, receive_timer));
#pragma GCC diagnostic pop
    // The process cannot end now: its end cancels the timer under the lock that we hold.
    wake_process(*p, process_state::kTimedOut);
}

// ---- BIF timers -------------------------------------------------------------------------------------

namespace {

constexpr uint32_t kSchedulerMask = 0x7FF;  // of RefId::high

// Timers with references of dirty schedulers are in the wheel of scheduler 1.
TimerWheel* wheel_of(RefId ref) {
    uint32_t number = ref.high & kSchedulerMask;
    if (number == 0) {
        number = 1;
    }
    return timer_wheel_of(static_cast<int>(number));
}

// Identifies the reference within its wheel.
uint64_t key_of(RefId ref) { return ref.low ^ (uint64_t{(ref.high & kSchedulerMask) == 0} << 63); }

void free_timer(BifTimer* t) {
    Heap h;
    h.fragments = t->fragments;
    h.off_heap = t->off_heap;
    delete t;
}

bool is_gone(Term to) {
    if (!is_local_pid(to)) {
        return false;
    }
    thread_progress::DelaySection section;
    return process_table::lookup(to) == nullptr;
}

}  // namespace

void forget_bif_timer(TimerWheel& wheel, TimerNode* node) {
    wheel.bif_timers().erase(key_of(static_cast<BifTimer*>(node)->ref));
}

void deliver_bif_timers(TimerNode* list) {
    while (list != nullptr) {
        auto* t = static_cast<BifTimer*>(list);
        list = list->next;
        MINIVM_EVENT(timer_fire, records::subject_or_none(t->to), t->ref.low);
        deliver_message(t->to, t->message);
        free_timer(t);
    }
}

namespace timers {

void destroy() {
    for (int i = 1; TimerWheel* const of = timer_wheel_of(i); ++i) {
        TimerWheel& wheel = *of;
        TimerNode* node = wheel.take_all();
        while (node != nullptr) {
            TimerNode* next = node->next;
            if (!node->is_receive) {
                free_timer(static_cast<BifTimer*>(node));
            }
            node = next;
        }
        wheel.bif_timers().clear();
    }
}

RefId start(Process& p, uint64_t due_ms, Term to, Term message, bool wrap) {
    auto* t = new BifTimer;
    t->ref = new_ref_id(p);
    t->wheel = wheel_of(t->ref);
    Heap h;
    // Copies literals as well: literal_release asks only processes to let go of them.
    t->to = copy_term(to, h, false);
    t->message = copy_term(message, h, false);
    if (wrap) {
        t->message =
            make_tuple(h, atoms::timeout, put_ref(h.alloc(kRefWords), t->ref), t->message);
    }
    t->fragments = std::exchange(h.fragments, nullptr);
    t->off_heap = std::exchange(h.off_heap, nullptr);
    const RefId ref = t->ref;
    const uint64_t now = monotonic_ns();
    const uint64_t due = due_ms * 1000000;
    MINIVM_EVENT(timer_set, records::subject(p.id), ref.low, due > now ? due - now : 0);
    bool first;
    {
        std::lock_guard lock(t->wheel->lock());
        t->wheel->bif_timers().emplace(key_of(ref), t);
        first = t->wheel->set_locked(t, due_ms);
    }
    const Scheduler* const here = this_scheduler();
    if (first && (here == nullptr || here->timers == nullptr)) {
        wake_for_timers();
    }
    return ref;
}

static int64_t left_ms(const BifTimer& t) {
    // In nanoseconds, so that a timer that was just set has no more left than its time.
    const uint64_t now = monotonic_ns();
    const uint64_t due = t.due_ms * 1000000;
    return due > now ? static_cast<int64_t>((due - now) / 1000000) : 0;
}

int64_t cancel(RefId ref) {
    TimerWheel* wheel = wheel_of(ref);
    if (wheel == nullptr) {
        return -1;
    }
    BifTimer* t;
    {
        std::lock_guard lock(wheel->lock());
        const auto it = wheel->bif_timers().find(key_of(ref));
        if (it == wheel->bif_timers().end()) {
            return -1;
        }
        t = it->second;
        wheel->bif_timers().erase(it);
        wheel->cancel_locked(t);
    }
    MINIVM_EVENT(timer_cancel, uint64_t{recorder::subject()}, ref.low);
    const int64_t left = is_gone(t->to) ? -1 : left_ms(*t);
    free_timer(t);
    return left;
}

int64_t read(RefId ref) {
    TimerWheel* wheel = wheel_of(ref);
    if (wheel == nullptr) {
        return -1;
    }
    Term to;
    int64_t left;
    {
        std::lock_guard lock(wheel->lock());
        const auto it = wheel->bif_timers().find(key_of(ref));
        if (it == wheel->bif_timers().end()) {
            return -1;
        }
        // Without the lock `to` may be freed; then only its tag is used, unless it is a pid, an immediate.
        to = it->second->to;
        left = left_ms(*it->second);
    }
    return is_local_pid(to) && is_gone(to) ? -1 : left;
}

}  // namespace timers
}  // namespace minivm
