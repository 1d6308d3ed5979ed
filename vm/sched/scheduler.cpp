// The scheduler threads: pick, run, put back, steal, sleep.
//
// A woken process goes to the queue of the scheduler that wakes it: its message is in that processor's
// cache, and the waker will soon wait itself. A scheduler that picks a process and leaves another one in
// its queue wakes a sleeping scheduler. This one steals at once from queues of two or more, but from a
// queue of one only if no process is popped anywhere for some microseconds: so two processes that talk to
// each other stay on one scheduler, and two that compute get separate ones.
#include <linux/futex.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "recorder/recorder.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/engine.hpp"
#include "vm/code/module_table.hpp"
#include "vm/heap/block_pool.hpp"
#include "vm/process/gc.hpp"
#include "vm/process/clock.hpp"
#include "vm/process/literal_release.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/process/system_monitor.hpp"
#include "vm/process/system_profile.hpp"
#include "vm/process/timers.hpp"
#include "vm/process/tracing.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/halt.hpp"
#include "vm/sched/online.hpp"
#include "vm/sched/pause.hpp"
#include "vm/sched/poller.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/sched/services.hpp"
#include "vm/util/activity.hpp"
#include "vm/util/fatal.hpp"
#include "vm/util/pause_cpu.hpp"

namespace minivm {

using activity::Activity;

namespace vm {
Options g_options;
}

namespace {

using namespace process_state;

constexpr int kSpins = 200;           // looks at the queues before sleeping
constexpr int kSpinsForDirty = 1000;  // if a dirty scheduler has a process of ours, which likely comes back soon
// After so many looks without a pop anywhere a thief also takes the only process of a queue.
constexpr int kPatience = 40;
// A scheduler in the poller's seat asks the kernel after so many looks, and takes so many events at once.
constexpr int kSpinsAPoll = 20;
constexpr int kSocketsAtOnce = 32;
constexpr uint32_t kStealAtLeast = 2;
constexpr uint32_t kStealLimit = 256;
constexpr Priority kPriorities[] = {Priority::max, Priority::high, Priority::normal, Priority::low};
constexpr uint64_t kBalance_ms = 20;  // how often a scheduler compares its queue with the others'
constexpr int64_t kTimerCheckReductions = kSliceReductions / 2;
// A longer slice gets a record of its own: something in it does not count its reductions.
constexpr double kLongSlice_s = 0.05;

std::vector<std::unique_ptr<SchedulerThread>> g_schedulers;
std::vector<std::thread> g_threads;
Engine* g_engine = nullptr;

std::atomic<int> g_active{1};     // the others are offline, see set_active_schedulers()
std::atomic<int> g_asleep{0};     // schedulers that sleep, or are about to or waking up
std::atomic<int> g_searching{0};  // schedulers awake and looking for work

void (*g_crash_dump)(const std::string& slogan) = nullptr;
// Schedulers that have not stopped, for join_schedulers().
std::mutex g_stop_mutex;
std::condition_variable g_stopped;
int g_unstopped = 0;
// How long they may take: a scheduler stops only when its BIF or native function returns.
constexpr auto kStopTime = std::chrono::seconds(5);

thread_local Scheduler* t_scheduler = nullptr;
thread_local SchedulerThread* t_scheduler_thread = nullptr;

bool is_offline(const SchedulerThread& s) { return MINIVM_UNLIKELY(s.number > active_schedulers()); }

// False: the word was not what is expected.
bool futex_wait(std::atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ms) {
    timespec t;
    timespec* timeout = nullptr;
    if (timeout_ms != ~uint64_t{0}) {
        t.tv_sec = static_cast<time_t>(timeout_ms / 1000);
        t.tv_nsec = static_cast<long>(timeout_ms % 1000 * 1000000);
        timeout = &t;
    }
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, timeout,
                   nullptr, 0) == 0 ||
           errno != EAGAIN;
}

void wake_one() {
    // seq_cst: after the push; a scheduler counts itself asleep before it looks at the queues a last
    // time. At least one sees the other's store.
    if (g_asleep.load(std::memory_order_seq_cst) == 0 ||
        g_searching.load(std::memory_order_seq_cst) != 0) {
        return;
    }
    // The scheduler that waits for sockets is woken only if no other one sleeps.
    SchedulerThread* seated = nullptr;
    for (auto& s : g_schedulers) {
        if (is_offline(*s)) {
            break;
        }
        // relaxed: a hint; wake_scheduler() decides.
        const uint32_t how = s->sleeping.load(std::memory_order_relaxed);
        if (how == SchedulerThread::kAsleep) {
            wake_scheduler(*s);
            return;
        }
        seated = how == SchedulerThread::kSeated ? s.get() : seated;
    }
    if (seated != nullptr) {
        wake_scheduler(*seated);
    }
}

Process* steal(SchedulerThread& s, uint32_t at_least) {
    const size_t n = g_schedulers.size();
    size_t start = static_cast<size_t>(s.number);
    if (vm::g_options.stress_sched_seed != 0) {
        start = next_random(s.random) % n;
    }
    for (size_t i = 0; i < n; ++i) {
        SchedulerThread& victim = *g_schedulers[(start + i) % n];
        if (&victim == &s || victim.queue.length() < at_least) {
            continue;
        }
        Process* p = victim.queue.steal(s.queue, at_least, kStealLimit);
        if (p != nullptr) {
            MINIVM_EVENT(sched_migrate, records::subject(p->id), victim.number, s.number);
            return p;
        }
    }
    return nullptr;
}

bool work_anywhere(SchedulerThread& s) {
    if (s.queue.length() != 0) {
        return true;
    }
    // seq_cst: set_active_schedulers() stores this, then looks at `sleeping`; we have stored `sleeping`
    // before this look.
    if (s.number > g_active.load(std::memory_order_seq_cst)) {
        return false;
    }
    for (auto& other : g_schedulers) {
        if (other.get() != &s && other->queue.movable() >= kStealAtLeast) {
            return true;
        }
    }
    return false;
}

constexpr unsigned priority_bit(Priority priority) { return 1u << static_cast<unsigned>(priority); }

// Notes at which priorities its processes wait but have had no turn since the last call.
void look_for_starved(SchedulerThread& s) {
    unsigned starved = 0;
    for (const Priority priority : kPriorities) {
        const uint64_t turns = s.queue.turns_from(priority);
        if (s.queue.length_of(priority) != 0 && turns == s.turns_then[static_cast<int>(priority)]) {
            starved |= priority_bit(priority);
        }
        s.turns_then[static_cast<int>(priority)] = turns;
    }
    // relaxed: a hint for even_out() of others.
    s.starved.store(static_cast<uint8_t>(starved), std::memory_order_relaxed);
}

// A scheduler without work steals. Schedulers that always have work call this now and then: each takes from the one
// that has most, so that processes of a priority get the same time everywhere; each priority by itself, or processes
// of low priority would share one scheduler. From a scheduler where only more urgent processes get turns it takes all
// starved ones. Called between slices, when all of its own processes are in its queue.
void even_out(SchedulerThread& s) {
    look_for_starved(s);
    struct Share {
        SchedulerThread* from = nullptr;
        uint32_t count = 0;
    } shares[std::size(kPriorities)];
    // relaxed: a hint, like everything read from the others here; the next call looks again soon.
    const unsigned own_starved = s.starved.load(std::memory_order_relaxed);
    for (auto& other : g_schedulers) {
        if (other.get() == &s) {
            continue;
        }
        // relaxed, both: as above.
        const unsigned starved = other->starved.load(std::memory_order_relaxed);
        const int8_t running = other->running.load(std::memory_order_relaxed);
        for (const Priority priority : kPriorities) {
            const uint32_t waiting = other->queue.length_of(priority);
            if (waiting == 0 || (own_starved & priority_bit(priority)) != 0) {
                continue;
            }
            const uint32_t all = waiting + (running == static_cast<int8_t>(priority));
            const uint32_t own = s.queue.length_of(priority);
            const uint32_t count = (starved & priority_bit(priority)) != 0 ? waiting : all > own ? (all - own) / 2 : 0;
            if (Share& share = shares[static_cast<int>(priority)]; count > share.count) {
                share = {other.get(), count};
            }
        }
    }
    for (const Priority priority : kPriorities) {
        const auto& [from, count] = shares[static_cast<int>(priority)];
        if (from == nullptr) {
            continue;
        }
        Process* next = nullptr;
        for (Process* p = from->queue.take(priority, std::min(count, kStealLimit)); p != nullptr; p = next) {
            next = p->next_in_queue;
            MINIVM_EVENT(sched_migrate, records::subject(p->id), from->number, s.number);
            s.queue.push(p);
        }
    }
}

void check_timers(SchedulerThread& s) {
    s.until_timers = kTimerCheckReductions;
    const uint64_t now = monotonic_ms();
    if (now >= s.balance_at_ms && !is_offline(s)) {
        s.balance_at_ms = now + kBalance_ms;
        even_out(s);
    }
    if (s.wheel.next_due_ms() <= now) {
        s.wheel.advance(now);
    }
}

void tell_profiler(const SchedulerThread& s, bool active) {
    if (system_profile::wants(system_profile::kScheduler)) {
        system_profile::scheduler_turn(s.number, active);
    }
}

void get_up(SchedulerThread& s) {
    if (s.seated) {
        s.seated = false;
        port::poller::leave_seat();
    }
}

void sleep_until_work(SchedulerThread& s) {
    tell_profiler(s, false);  // this may enqueue the profiler here, so before the look at the queue
    recorder::tick();
    thread_progress::sleep(s.progress);
    s.seated = s.seated || (!is_offline(s) && port::poller::take_seat());
    epoll_event events[kSocketsAtOnce];
    int ready = 0;
    // seq_cst: announce, then look; partners are wake_one(), enqueue_process() and halt().
    s.sleeping.store(s.seated ? SchedulerThread::kSeated : SchedulerThread::kAsleep, std::memory_order_seq_cst);
    g_asleep.fetch_add(1, std::memory_order_seq_cst);
    // seq_cst: see halt().
    if (!work_anywhere(s) && !vm::g_halting.load(std::memory_order_seq_cst)) {
        const uint64_t due = s.wheel.next_due_ms();
        uint64_t timeout = ~uint64_t{0};
        if (due != ~uint64_t{0}) {
            const uint64_t now = monotonic_ns();
            const uint64_t due_ns = due * 1000000;
            timeout = due_ns > now ? (due_ns - now + 999999) / 1000000 : 0;
        }
        if (timeout != 0) {
            MINIVM_EVENT(sched_sleep, s.number, timeout == ~uint64_t{0} ? 0 : timeout);
            // Before the kernel counts it, so that this is never less than the kernel's count.
            count_up(s.sleeps, 1);
            activity::set(Activity::sleep);
            if (s.seated) {
                const int ms = static_cast<int>(std::min<uint64_t>(timeout, INT32_MAX));
                ready = port::poller::wait_seated(events, kSocketsAtOnce, timeout == ~uint64_t{0} ? -1 : ms);
            } else if (!futex_wait(s.sleeping, SchedulerThread::kAsleep, timeout)) {
                count_up(s.sleeps, ~uint64_t{0});
            }
            activity::set(Activity::other);
            MINIVM_EVENT(sched_wake, s.number, 0);
        }
    }
    // seq_cst: from here on no thread needs to wake us.
    s.sleeping.store(0, std::memory_order_seq_cst);
    g_asleep.fetch_sub(1, std::memory_order_seq_cst);
    thread_progress::wake(s.progress);
    tell_profiler(s, true);
    s.code_ix = code_index::reread(code_index::Reread::schedule_in, s.code_ix);
    if (s.seated) {
        port::poller::tell_seated(events, ready);
        get_up(s);
    }
    s.until_timers = 0;
}

// Grows whenever a scheduler takes a process from its own queue.
uint64_t total_pops() {
    uint64_t n = 0;
    for (auto& s : g_schedulers) {
        n += s->queue.pops();
    }
    return n;
}

Process* find_work(SchedulerThread& s) {
    s.found_at_once = false;
    if (vm::g_options.stress_sched_seed != 0) {
        Process* p = next_random(s.random) % 8 == 0 ? steal(s, 1) : nullptr;
        if (p == nullptr) {
            p = s.queue.pop_random(next_random(s.random));
        }
        if (p != nullptr) {
            return p;
        }
    }
    if (Process* p = s.queue.pop()) {
        s.found_at_once = s.ran_before;
        if (s.queue.length() != 0) {
            wake_one();
        }
        return p;
    }
    do_after_turn(s);  // it waited for processes in the queue, which others have stolen
    if (g_schedulers.size() == 1) {
        return nullptr;
    }
    activity::set(Activity::other);
    uint64_t pops = total_pops();
    // seq_cst: wake_one() relies on a searching scheduler; one that stops searching looks again before it sleeps.
    g_searching.fetch_add(1, std::memory_order_seq_cst);
    Process* p = nullptr;
    s.seated = s.seated || (!is_offline(s) && port::poller::take_seat());
    const int spins = s.gave_to_dirty ? kSpinsForDirty : kSpins;
    s.gave_to_dirty = false;
    for (int i = 0; i < spins && p == nullptr && !is_offline(s); ++i) {
        p = s.queue.pop();
        if (p == nullptr) {
            p = steal(s, kStealAtLeast);
        }
        if (p == nullptr && i != 0 && i % kPatience == 0) {
            const uint64_t now = total_pops();
            if (now == pops) {
                p = steal(s, 1);
            }
            pops = now;
        }
        if (p == nullptr && s.seated && i % kSpinsAPoll == 0) {
            epoll_event events[kSocketsAtOnce];
            port::poller::tell_seated(events, port::poller::wait_seated(events, kSocketsAtOnce, 0));
        }
        if (p == nullptr) {
            pause_cpu();
            // We hold nothing shared here. Without this each round of thread progress would wait for the whole
            // search, and a change of breakpoints takes several rounds.
            thread_progress::quiescent(s.progress);
        }
    }
    // seq_cst: see above.
    g_searching.fetch_sub(1, std::memory_order_seq_cst);
    s.code_ix = code_index::reread(code_index::Reread::schedule_in, s.code_ix);
    if (p != nullptr && s.queue.length() != 0) {
        wake_one();
    }
    return p;
}

// Runs processes bound to this scheduler, and gives the others away.
void run_offline(SchedulerThread& s) {
    get_up(s);
    do_after_turn(s);
    s.found_at_once = false;
    s.ran_before = false;
    while (Process* p = s.queue.pop_unbound()) {
        const int n = active_schedulers();
        SchedulerThread& target =
            *g_schedulers[imm_data(p->id) % static_cast<size_t>(n)];
        MINIVM_EVENT(sched_migrate, records::subject(p->id), s.number, target.number);
        target.queue.post(p);
        wake_scheduler(target);
    }
    if (Process* p = s.queue.pop()) {
        run_process(s, *p);
    } else {
        sleep_until_work(s);
    }
}

void pause_scheduler(SchedulerThread& s) {
    do_after_turn(s);
    get_up(s);
    thread_progress::sleep(s.progress);
    // seq_cst: the partner is stands() in pause.cpp.
    s.stands.store(true, std::memory_order_seq_cst);
    vm::wait_while_paused();
    s.stands.store(false, std::memory_order_seq_cst);
    thread_progress::wake(s.progress);
    s.until_timers = 0;
}

void scheduler_main(SchedulerThread* scheduler) {
    SchedulerThread& s = *scheduler;
    t_scheduler = &s;
    t_scheduler_thread = &s;
    lock_waits::set_is_scheduler();
    // relaxed: a number to show.
    s.thread_id.store(static_cast<int>(gettid()), std::memory_order_relaxed);
    char name[32];
    snprintf(name, sizeof name, "scheduler %d", s.number);
    recorder::attach_thread(name, recorder::RingSize::large);
    snprintf(name, sizeof name, "%d_scheduler", s.number);  // for ps, perf and gdb
    pthread_setname_np(pthread_self(), name);
    fault::prepare_thread();
    activity::attach(activity::ThreadKind::scheduler, s.number);
    activity::set(Activity::other);
    s.long_slice_ticks = static_cast<uint64_t>(kLongSlice_s * recorder::ticks_per_second());
    thread_progress::wake(s.progress);
    // acquire: pairs with halt(), and sees what was written before it.
    while (!vm::g_halting.load(std::memory_order_acquire)) {
        // Again behind a pause: the next pause() may have counted this scheduler before it went on.
        while (MINIVM_UNLIKELY(vm::is_paused())) {
            pause_scheduler(s);
        }
        thread_progress::quiescent(s.progress);
        s.code_ix = code_index::reread(code_index::Reread::schedule_in, s.code_ix);
        if (s.until_timers <= 0) {
            check_timers(s);
        }
        if (is_offline(s)) {
            run_offline(s);
            continue;
        }
        if (Process* p = find_work(s)) {
            get_up(s);
            s.ran_before = false;
            run_process(s, *p);
            continue;
        }
        s.ran_before = false;
        check_timers(s);
        if (s.queue.length() == 0) {
            sleep_until_work(s);
        }
    }
    thread_progress::sleep(s.progress);
    recorder::detach_thread();
    t_scheduler = nullptr;
    t_scheduler_thread = nullptr;
    std::lock_guard lock(g_stop_mutex);
    --g_unstopped;
    g_stopped.notify_all();
}

}  // namespace

Scheduler* this_scheduler() { return t_scheduler; }
SchedulerThread* this_scheduler_thread() { return t_scheduler_thread; }
void set_this_scheduler(Scheduler* s) { t_scheduler = s; }
SchedulerThread& scheduler_at(int number) {
    return *g_schedulers[static_cast<size_t>(number) - 1];
}

TimerWheel* timer_wheel_of(int scheduler) {
    return scheduler > vm::scheduler_count() ? nullptr : &scheduler_at(scheduler).wheel;
}

int active_schedulers() {
    // relaxed: a thread that reads an old number posts to a scheduler that is offline by now, which gives the
    // process away.
    return g_active.load(std::memory_order_relaxed);
}

void wake_for_timers() { wake_scheduler(scheduler_at(1)); }

uint64_t next_random(uint64_t& state) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void wake_scheduler(SchedulerThread& s) {
    // seq_cst: pairs with sleep_until_work(). Only one of several wakers does the system call.
    uint32_t how = s.sleeping.load(std::memory_order_seq_cst);
    if (how == 0 || !s.sleeping.compare_exchange_strong(how, 0, std::memory_order_seq_cst)) {
        return;  // awake; if it sleeps again by now, it has looked for work after our look
    }
    if (how == SchedulerThread::kSeated) {
        port::poller::wake_seated();
    } else {
        syscall(SYS_futex, reinterpret_cast<uint32_t*>(&s.sleeping), FUTEX_WAKE_PRIVATE, 1, nullptr,
                nullptr, 0);
    }
}

void wake_all_schedulers() {
    for (auto& s : g_schedulers) {
        wake_scheduler(*s);
    }
}

void set_active_schedulers(int n) {
    // seq_cst: before wake_scheduler() looks at `sleeping`; see work_anywhere().
    g_active.store(n, std::memory_order_seq_cst);
    wake_all_schedulers();
}

void enqueue_process(Process& p) {
    SchedulerThread* self = t_scheduler_thread;
    if (MINIVM_UNLIKELY(p.bound_to != 0)) {
        SchedulerThread& target = *g_schedulers[p.bound_to - 1];
        if (&target == self) {
            target.queue.push(&p);
        } else {
            target.queue.post(&p);
            wake_scheduler(target);
        }
        return;
    }
    if (MINIVM_LIKELY(self != nullptr)) {
        self->queue.push(&p);  // this scheduler wakes another one when it picks its next process
        return;
    }
    const auto n = static_cast<size_t>(active_schedulers());
    const size_t home = p.run_queue == 0 ? imm_data(p.id) % n : (p.run_queue - 1) % n;
    SchedulerThread& target = *g_schedulers[home];
    target.queue.post(&p);
    wake_scheduler(target);
}

void raise_process(Process& p, Priority to) {
    // relaxed: if p is not queued, it handles its signals when it is next queued.
    if ((p.state.load(std::memory_order_relaxed) & kQueued) == 0) {
        return;
    }
    // p may be on its way from one queue to another (steal, even_out), or into its first one. We store the wish, then
    // look into each queue under its lock. If p enters a queue before our look, we find it there; if after it, the
    // thread that pushes p under the same lock sees the wish.
    // relaxed: the locks order it.
    p.raise_wish.store(static_cast<uint8_t>(1 + static_cast<unsigned>(to)), std::memory_order_relaxed);
    for (auto& s : g_schedulers) {
        if (s->queue.raise(p, to)) {
            return;
        }
    }
}

void wake_process(Process& p, uint32_t reason) {
    const uint32_t want = reason | kActive;
    system_profile::Turn turn(p);
    // seq_cst: after the reason was made visible; see state.hpp.
    uint32_t old = p.state.load(std::memory_order_seq_cst);
    for (;;) {
        if ((old & kDead) != 0 || (old & want) == want) {
            return;  // p's owner looks after it clears kActive, and that is after our load
        }
        const bool sleeps = (old & (kQueued | kRunning)) == 0;
        // seq_cst: see state.hpp.
        if (p.state.compare_exchange_weak(old, old | want | (sleeps ? kQueued : 0),
                                          std::memory_order_seq_cst)) {
            if (sleeps) {
                turn.look_at(p);
                turn.became(true);
                enqueue_process(p);
            }
            return;
        }
    }
}

void wake_up_pid(Term pid) {
    thread_progress::DelaySection section;
    if (is_local_pid(pid)) {
        if (Process* p = process_table::lookup(pid)) {
            wake_up(*p);
        }
    }
}

RefId new_ref_id(Process& p) { return new_ref_id(p.scheduler); }

RefId new_ref_id(Scheduler* s) {
    static std::atomic<uint64_t> dirty_counter{0};
    uint64_t n;
    uint32_t number;
    if (s == nullptr || s->number == 0) {
        // relaxed: only uniqueness is required.
        n = dirty_counter.fetch_add(1, std::memory_order_relaxed);
        number = 0;
    } else {
        n = s->ref_counter++;
        number = static_cast<uint32_t>(s->number);
    }
    // As in OTP the first word has 18 bits. The third is the scheduler's number; a timer with this reference
    // lies in that scheduler's wheel.
    return {(n & 0x3FFFF) | (n >> 18 << 32), number};
}

void count_collection(uint64_t words) {
    if (SchedulerThread* s = t_scheduler_thread) {
        count_up(s->collections, 1);
        count_up(s->words_reclaimed, words);
    }
}

// ---- the machine ----------------------------------------------------------------------------------

namespace vm {

bool start(const Options& options, Engine* engine) {
    prepare_malloc();
    g_options = options;
    if (g_options.schedulers <= 0) {
        g_options.schedulers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    }
    g_options.schedulers = std::min(g_options.schedulers, thread_progress::kMaxSchedulers);
    if (g_options.dirty_cpu_schedulers <= 0) {
        g_options.dirty_cpu_schedulers = g_options.schedulers;
    }
    if (g_options.dirty_io_schedulers <= 0) {
        g_options.dirty_io_schedulers = 10;
    }
    g_engine = engine;
    forget_halt();
    process_table::init(g_options.processes);
    registry::init();
    ets::init();
    nif::init();
    clock::start();
    const uint64_t now = monotonic_ms();
    for (int i = 1; i <= g_options.schedulers; ++i) {
        auto s = std::make_unique<SchedulerThread>(now);
        s->number = i;
        s->random = g_options.stress_sched_seed * 0x100000001B3u + static_cast<uint64_t>(i);
        s->progress = thread_progress::join();
        s->code_ix = code_index::active();
        if (s->progress == nullptr) {
            return false;
        }
        g_schedulers.push_back(std::move(s));
    }
    activity::init(g_options.schedulers, g_options.dirty_cpu_schedulers, g_options.dirty_io_schedulers);
    dirty::start(g_options.dirty_cpu_schedulers, g_options.dirty_io_schedulers);
    online::start(g_options.schedulers, g_options.dirty_cpu_schedulers);
    g_unstopped = g_options.schedulers;
    try {
        for (auto& s : g_schedulers) {
            g_threads.emplace_back(scheduler_main, s.get());
        }
    } catch (const std::system_error& e) {
        errno = e.code().value();
        return false;
    }
    allow_halt();
    return true;
}

void set_crash_dump(void (*write)(const std::string& slogan)) { g_crash_dump = write; }
Engine* default_engine() { return g_engine; }
int scheduler_count() { return g_options.schedulers; }
int dirty_cpu_count() { return g_options.dirty_cpu_schedulers; }
int dirty_io_count() { return g_options.dirty_io_schedulers; }

// False: some schedulers have not stopped in time; they go on.
static bool join_schedulers() {
    std::unique_lock lock(g_stop_mutex);
    const bool all = g_stopped.wait_for(lock, kStopTime, [] { return g_unstopped == 0; });
    lock.unlock();
    for (std::thread& t : g_threads) {
        if (all) {
            t.join();
        } else {
            t.detach();
        }
    }
    g_threads.clear();
    return all;
}

int run_until_halt(bool* clean) {
    const HaltPlan plan = wait_for_halt();
    if (!join_schedulers()) {
        print_slogan(plan.slogan);
        if (clean != nullptr) {
            *clean = false;
        }
        return plan.status;
    }
    if (plan.flush) {
        port::flush_all();
    }
    print_slogan(plan.slogan);
    if (plan.slogan && g_crash_dump != nullptr) {
        g_crash_dump(*plan.slogan);
    }
    const bool all_stopped = dirty::stop();
    if (clean != nullptr) {
        *clean = all_stopped;
    }
    if (!all_stopped) {
        return plan.status;  // a thread that goes on may still use the rest
    }
    threads_have_ended();
    port::destroy();
    timers::destroy();  // first: the timers of receive are parts of the processes
    process_table::for_each(
        [](Process& p, void*) {
            process_table::remove(p);
            destroy_process(p);
        },
        nullptr);
    ets::destroy_all();
    for (auto& s : g_schedulers) {
        thread_progress::leave(s->progress);
    }
    thread_progress::run_all();
    literal_release::finish_all();
    g_schedulers.clear();
    registry::destroy();
    process_table::destroy();
    return plan.status;
}

Statistics statistics() {
    Statistics sum{};
    for (auto& s : g_schedulers) {
        // relaxed: numbers to show.
        sum.context_switches += s->context_switches.load(std::memory_order_relaxed);
        sum.reductions += s->reductions_total.load(std::memory_order_relaxed);
        // relaxed: as above.
        sum.collections += s->collections.load(std::memory_order_relaxed);
        sum.words_reclaimed += s->words_reclaimed.load(std::memory_order_relaxed);
    }
    return sum;
}

uint32_t run_queue_length(int scheduler) { return scheduler_at(scheduler).queue.length(); }

}  // namespace vm
}  // namespace minivm
