// One slice of a process on a scheduler: the scheduler takes the process over, runs it, and puts it back on a queue,
// to sleep, to a dirty scheduler, or ends it.
#include "recorder/recorder.hpp"
#include "vm/code/engine.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/probe.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/system_profile.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/sched/services.hpp"
#include "vm/util/activity.hpp"

#include <utility>

namespace minivm {

using activity::Activity;

namespace {

using namespace process_state;

constexpr int64_t kLongSlices = 25;   // where rereads of the code index are left out
constexpr int64_t kSwitchCost = 100;  // reductions that a process switch counts for the timer check

// Clears and sets bits of p's state in one step; returns what it was.
uint32_t change_state(Process& p, uint32_t cleared, uint32_t set) {
    // relaxed: the compare-exchange decides.
    uint32_t old = p.state.load(std::memory_order_relaxed);
    // seq_cst: acquires p from its last owner or releases it to the next, in one order with the looks of others.
    while (!p.state.compare_exchange_weak(old, (old & ~cleared) | set, std::memory_order_seq_cst)) {
    }
    return old;
}

// The process gives up the thread and goes to the end of the queue. `cleared`: state bits to clear.
void requeue(Process& p, uint32_t cleared) {
    p.scheduler = nullptr;
    p.x = nullptr;
    change_state(p, kRunning | cleared, kQueued);  // hands p to the next owner, which takes it in the same way
    enqueue_process(p);
}

// The process has nothing to do: it sleeps until wake_process(). `set`: state bits that say why.
void go_idle(Process& p, uint32_t set, uint32_t cleared) {
    // These do not wake a suspended process; the bits stay in its state until it is resumed.
    const uint32_t reasons = p.suspended != 0 ? 0 : kWoken | kTimedOut;
    p.scheduler = nullptr;
    p.x = nullptr;
    for (;;) {
        // seq_cst: we clear kActive, then look at the reasons; the waker makes the reason visible
        // first, then sets kActive (state.hpp).
        const uint32_t old = p.state.fetch_and(~kActive, std::memory_order_seq_cst);
        // seq_cst: see above; pairs with push_signal().
        if (p.mailbox.outer.load(std::memory_order_seq_cst) != nullptr || (old & reasons) != 0 ||
            p.deferred != nullptr) {
            change_state(p, kRunning | cleared, set | kQueued);  // as in requeue(); `set` keeps kWaiting
            enqueue_process(p);
            return;
        }
        uint32_t expected = old & ~kActive;
        system_profile::Turn turn(p);
        turn.look_at(p);
        // seq_cst: fails if kActive has been set again. Releases p to the next owner.
        if (p.state.compare_exchange_strong(expected, (expected & ~(kRunning | cleared)) | set,
                                            std::memory_order_seq_cst)) {
            turn.became(false);
            return;
        }
    }
}

// Whether a signal of such a kind waits in the outer queue.
template <typename IsMeant>
bool has_signal_of(const Process& p, IsMeant is_meant) {
    // seq_cst: see go_dirty(). Only the owner takes signals out.
    const Signal* s = p.mailbox.outer.load(std::memory_order_seq_cst);
    while (s != nullptr && !is_meant(s->kind)) {
        s = s->next;
    }
    return s != nullptr;
}

// Hands p to a dirty scheduler. It handles its signals first: it may be away for long, and processes wait for
// answers to their requests. From kDirty on others look at p from outside instead (dirty_hold.hpp), and who sends an
// exit signal has p looked at (end_if_dirty()). They push a signal, then look at the state; we set the state, then look
// at the queue: so we see the signal, or they see kDirty. kHeld keeps them from taking signals out while we look.
// For a request that we see we take p back; for an exit signal we do what its sender would have done a moment later.
// Other signals may stay, as those do that come from then on. So only one who has asked while p was not dirty has p taken
// back, and others who send without end do not keep it here.
// A suspended process sleeps here until it is resumed; take_over() then finds Process::goes_dirty. False: a
// signal ends p.
bool go_dirty(SchedulerThread& s, Process& p) {
    constexpr uint32_t kMine = kDirty | kQueued | kHeld;
    for (;;) {
        s.process = &p;
        if (MINIVM_UNLIKELY(p.deferred != nullptr)) {
            handle_deferred(p);
        }
        // Messages may stay until p is back.
        if (MINIVM_UNLIKELY(has_signal_of(p, [](SignalKind kind) { return kind != SignalKind::message; }))) {
            handle_signals(p);
        }
        s.process = nullptr;
        if (MINIVM_UNLIKELY(p.exit_signal != nullptr)) {
            return false;
        }
        if (MINIVM_UNLIKELY(p.suspended != 0)) {
            p.goes_dirty = true;
            go_idle(p, 0, 0);
            return true;
        }
        change_state(p, kRunning, kMine);  // hands p over, as said above
        if (MINIVM_LIKELY(!has_signal_of(p, [](SignalKind kind) { return kind == SignalKind::rpc; }))) {
            const bool has_exit = has_signal_of(p, [](SignalKind kind) { return kind == SignalKind::exit; });
            p.scheduler = nullptr;
            p.x = nullptr;
            // seq_cst: releases p to those who look at it from now on.
            p.state.fetch_and(~kHeld, std::memory_order_seq_cst);
            if (MINIVM_UNLIKELY(has_exit)) {
                end_if_dirty(p);
            }
            s.gave_to_dirty = true;
            dirty::enqueue(p);
            return true;
        }
        change_state(p, kMine, kRunning);  // nobody has had p meanwhile
    }
}

records::Word stop_word(Stop stop) {
    using records::Word;
    switch (stop) {
        case Stop::yielded:
        case Stop::crossed:  // run_in_engines() never returns it
            return Word::yielded;
        case Stop::waiting:
            return Word::waiting;
        case Stop::dirty:
            return Word::dirty;
        case Stop::exited:
            break;
    }
    return Word::exited;
}

int64_t slice_of(SchedulerThread& s) {
    if (vm::g_options.stress_reductions) {
        return 1;
    }
    if (vm::g_options.stress_sched_seed != 0) {
        return 1 + static_cast<int64_t>(next_random(s.random) % kSliceReductions);
    }
    if (vm::g_options.left_out_rereads != 0) {
        // Long enough that a process learns of another scheduler's commit within one slice.
        return kSliceReductions * kLongSlices;
    }
    return kSliceReductions;
}

// Ends a process that an exit signal has told to end.
void end_scheduled_out(SchedulerThread& s, Process& p) {
    p.scheduler = &s;
    probe::scheduled_in(p);
    end_process(p);
}

// Takes p over and handles its signals. False: it runs no slice now; it sleeps, is queued elsewhere or has ended.
bool take_over(SchedulerThread& s, Process& p) {
    // Takes p over from its last owner, and clears kActive before we look at the signals (state.hpp).
    const uint32_t old = change_state(p, kQueued | kActive | kWoken, kRunning);
    activity::set(Activity::emulator);
    p.scheduler = &s;
    p.x = s.x;
    p.run_queue = static_cast<uint32_t>(s.number);
    p.was_waiting = (old & kWaiting) != 0;
    s.process = &p;
    s.until_timers -= kSwitchCost;
    count_up(s.context_switches, 1);

    bool run = (old & kWaiting) == 0 || (old & (kWoken | kTimedOut)) != 0;
    // seq_cst: after kActive was cleared.
    if (p.mailbox.outer.load(std::memory_order_seq_cst) != nullptr) {
        const uint32_t messages = p.mailbox.length;
        p.reductions = 0;
        handle_signals(p);
        if (p.mailbox.length > messages) {
            run = true;
        }
    }
    if (MINIVM_UNLIKELY(p.deferred != nullptr) && p.exit_signal == nullptr) {
        handle_deferred(p);
    }
    if (MINIVM_UNLIKELY(p.exit_signal != nullptr)) {
        s.process = nullptr;
        end_scheduled_out(s, p);
        return false;
    }
    if (MINIVM_UNLIKELY(p.suspended != 0)) {
        p.raised = false;
        s.process = nullptr;
        go_idle(p, 0, run ? kWaiting : 0);
        return false;
    }
    if (!run) {
        p.raised = false;
        s.process = nullptr;
        go_idle(p, kWaiting, 0);
        return false;
    }
    if (MINIVM_UNLIKELY(p.raised)) {
        p.raised = false;
        s.process = nullptr;
        // relaxed: we own it; the next take_over() must find that it was woken.
        p.state.fetch_or(kWoken, std::memory_order_relaxed);
        requeue(p, 0);
        return false;
    }
    if ((old & kWaiting) != 0) {
        // relaxed: read by others for information only.
        p.state.fetch_and(~kWaiting, std::memory_order_relaxed);
    }
    if (MINIVM_UNLIKELY(p.goes_dirty)) {
        p.goes_dirty = false;
        if (!go_dirty(s, p)) {
            end_scheduled_out(s, p);
        }
        return false;
    }
    return true;
}

Stop run_slice(SchedulerThread& s, Process& p) {
    const int64_t slice = slice_of(s);
    p.reductions = slice;
    // relaxed: a hint, for statistics and for even_out().
    s.running.store(static_cast<int8_t>(p.priority), std::memory_order_relaxed);
    const probe::Slice probed(p, slice, s.found_at_once);
    if (MINIVM_UNLIKELY(p.needs_gc())) {
        // For messages that it has received and dropped in a loop that allocates nothing.
        collect_gc(p, 0, p.saved_x, p.live_x, false);
    }
    p.in_engine = true;
    const Stop stop = run_in_engines(s, p);
    p.in_engine = false;
    // relaxed: as above.
    s.running.store(SchedulerThread::kNone, std::memory_order_relaxed);
    const int64_t used = slice - p.reductions;
    probed.ended(used, stop_word(stop), stop == Stop::exited, s.long_slice_ticks);
    s.ran_before = true;
    s.process = nullptr;
    if (used > 0) {
        p.reductions_done += static_cast<uint64_t>(used);
        s.until_timers -= used;
        count_up(s.reductions_total, static_cast<uint64_t>(used));
    }
    return stop;
}

// See run_process().
constexpr int64_t kShortTurn = 400;  // reductions
constexpr int kMostTurnsPutOff = 16;

void give_turn(SchedulerThread& s, Process& p) {
    if (!take_over(s, p)) {
        return;
    }
    const Stop stop = run_slice(s, p);
    // Records of its end still have p as their subject.
    if (MINIVM_UNLIKELY(stop == Stop::exited || p.exit_signal != nullptr ||
                        (stop == Stop::dirty && !go_dirty(s, p)))) {
        if (stop == Stop::exited) {
            p.scheduler = &s;
            end_process(p);
        } else {
            end_scheduled_out(s, p);
        }
        recorder::set_subject(0);
        return;
    }
    recorder::set_subject(0);
    if (stop == Stop::yielded) {
        requeue(p, 0);
        return;
    }
    if (stop == Stop::dirty) {
        return;
    }
    go_idle(p, kWaiting, 0);
}

}  // namespace

void run_process(SchedulerThread& s, Process& p) {
    s.in_turn = true;
    const int64_t before = s.until_timers;
    give_turn(s, p);
    s.in_turn = false;
    const int64_t used = before - s.until_timers;
    // The processes that run next may add to this work, so it waits for some more turns while these are short.
    if (MINIVM_UNLIKELY(s.after_turn != nullptr) &&
        (s.queue.length() == 0 || used > kShortTurn || ++s.turns_put_off >= kMostTurnsPutOff)) {
        do_after_turn(s);
    }
}

void do_after_turn(SchedulerThread& s) {
    if (MINIVM_UNLIKELY(s.after_turn != nullptr)) {
        s.turns_put_off = 0;
        std::exchange(s.after_turn, nullptr)(s.after_turn_data);
    }
}

}  // namespace minivm
