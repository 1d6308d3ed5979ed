// Dirty schedulers: threads that run one BIF of one process at a time, for as long as it takes, and jobs of the
// VM itself that are too long for a scheduler.
//
// A dirty scheduler owns the process meanwhile; the process's signals wait, except one that ends it
// (end_dirty_process()). A thread is started when there is work and none is idle, up to the limit.
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "recorder/recorder.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/heap/block_pool.hpp"
#include "vm/instr/bif_def.hpp"
#include "vm/process/dirty_hold.hpp"
#include "vm/process/engine_calls.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/state.hpp"
#include "vm/progress/background.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/run_queue.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/util/activity.hpp"
#include "vm/util/fatal.hpp"
#include "vm/util/lock.hpp"
#include "vm/util/pause_cpu.hpp"

namespace minivm {

using activity::Activity;

void set_this_scheduler(Scheduler* s);

namespace {

using namespace process_state;

// Work of the VM itself.
struct Job {
    void (*run)(void*);
    void* data;
    Job* next;
};

// Processes that wait for a thread, in the order of a scheduler's run queue: max before high before normal and
// low (LowShare).
class Waiting {
  public:
    bool empty() const { return size_ == 0; }
    void push_back(Process* p) {
        queues_[static_cast<size_t>(p->priority)].push_back(p);
        ++size_;
    }
    // Not empty.
    Process* pop() {
        std::deque<Process*>* from = &queue(Priority::max);
        if (from->empty()) {
            from = &queue(Priority::high);
        }
        if (from->empty()) {
            std::deque<Process*>& normal = queue(Priority::normal);
            std::deque<Process*>& low = queue(Priority::low);
            from = low_share_.is_turn_of_low(normal.size(), low.size()) ? &low : &normal;
        }
        Process* const p = from->front();
        from->pop_front();
        --size_;
        return p;
    }
    void clear() {
        for (auto& q : queues_) {
            q.clear();
        }
        size_ = 0;
    }

  private:
    std::deque<Process*>& queue(Priority of) { return queues_[static_cast<size_t>(of)]; }
    std::deque<Process*> queues_[4];
    size_t size_ = 0;
    LowShare low_share_;
};

// Schedulers hand work over without a lock and without starting threads: they push it onto a stack that the
// pool's threads empty, and wake an idle thread. There is one, unless the limit is reached: a thread that takes
// work and leaves none idle behind starts another one first.
//
// A process that reads or writes a file goes to the pool for each call, and waking a thread takes several times
// as long as the call itself. So one thread that has just worked searches for more work for some microseconds
// before it becomes idle. Meanwhile schedulers wake no thread: the searching one takes all work from the stack,
// and wakes others for what it does not do itself.
struct Pool {
    // -- any thread
    std::atomic<Process*> new_processes{nullptr};  // by next_in_queue, the newest first
    std::atomic<Job*> new_jobs{nullptr};           // by next, the newest first
    std::atomic<uint32_t> wakes{0};                // the futex of idle threads; grows with each piece of work
    std::atomic<uint32_t> idle{0};                 // threads that wait for it, or are about to
    std::atomic<bool> searching{false};            // a thread is in search()
    std::atomic<uint32_t> last_worker{FUTEX_BITSET_MATCH_ANY};  // the bit of the thread that worked last
    std::atomic<uint32_t> waiting{0};              // processes in new_processes and queue
    std::atomic<bool> stopping{true};              // or not started
    // -- the pool's threads and the one that stops them, under the mutex
    std::mutex mutex;
    std::condition_variable ended;
    Waiting queue;
    std::deque<Job*> jobs;                         // run when no process waits
    std::vector<std::thread> threads;
    int limit = 0;                                 // of threads
    int online = INT_MAX;                          // processes that may run at once
    int busy = 0;                                  // processes that do run
    int running = 0;                               // threads that have not ended
    const char* name = "";
};

Pool g_cpu;
Pool g_io;
// For BIFs of the VM itself that use files and programs or print. They go on when all threads of g_io block for ever.
// system_info and the like do not count these threads.
Pool g_own;
constexpr int kOwnThreads = 4;

template <typename T>
void push(std::atomic<T*>& stack, T* work, T* T::*next) {
    // relaxed: the compare-exchange decides.
    T* first = stack.load(std::memory_order_relaxed);
    do {
        work->*next = first;
        // seq_cst: before the look for idle threads in wake(); releases the work to take_new().
    } while (!stack.compare_exchange_weak(first, work, std::memory_order_seq_cst));
}

// Wakes one idle thread that has one of these bits, if there is one; returns how many it has woken.
long wake_idle(Pool& pool, uint32_t bits) {
    return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&pool.wakes), FUTEX_WAKE_BITSET_PRIVATE, 1,
                   nullptr, nullptr, bits);
}

void wake(Pool& pool) {
    // seq_cst: we push the work, then add here, then look for idle threads. A thread counts itself idle, then
    // looks for work, then waits for a change here: at least one of the two sees the other's store.
    pool.wakes.fetch_add(1, std::memory_order_seq_cst);
    // seq_cst: the same. A searching thread first clears `searching`, then looks for work once more.
    if (pool.searching.load(std::memory_order_seq_cst)) {
        return;
    }
    // seq_cst: as above.
    if (pool.idle.load(std::memory_order_seq_cst) != 0) {
        // Preferably the thread that worked last, whose memory is in the cache: malloc gives each thread an arena
        // of its own. If that one does not wait, any other.
        // relaxed: a hint.
        if (wake_idle(pool, pool.last_worker.load(std::memory_order_relaxed)) == 0) {
            wake_idle(pool, FUTEX_BITSET_MATCH_ANY);
        }
    }
}

// Moves the stack to the end of the queue, the oldest first.
template <typename T, typename Queue>
void take_new(std::atomic<T*>& stack, Queue& queue, T* T::*next) {
    // seq_cst: see wake().
    T* work = stack.exchange(nullptr, std::memory_order_seq_cst);
    T* oldest = nullptr;
    while (work != nullptr) {
        T* const rest = work->*next;
        work->*next = oldest;
        oldest = work;
        work = rest;
    }
    for (; oldest != nullptr; oldest = oldest->*next) {
        queue.push_back(oldest);
    }
}
// Takes new work from the stacks as well.
bool has_work_locked(Pool& pool) {
    take_new(pool.new_processes, pool.queue, &Process::next_in_queue);
    take_new(pool.new_jobs, pool.jobs, &Job::next);
    return (!pool.queue.empty() && pool.busy < pool.online) || !pool.jobs.empty();
}

// Takes p over from a scheduler, or hands it back, as soon as no thread holds p. False: p has been left
// (Hold::leave()), and its state is unchanged.
bool change_unless_left(Process& p, uint32_t cleared, uint32_t set) {
    for (;;) {
        // acquire: if p has been left, what end_dirty_process() did comes before finish_left_process().
        uint32_t old = p.state.load(std::memory_order_acquire);
        if ((old & kHeld) != 0) {
            sched_yield();
        } else if ((old & kLeft) != 0) {
            return false;
            // seq_cst: acquires p from its last owner or holder, releases it to the next.
        } else if (p.state.compare_exchange_weak(old, (old & ~cleared) | set,
                                                 std::memory_order_seq_cst)) {
            return true;
        }
    }
}

void run_one(Scheduler& s, Process& p, bool io) {
    if (!change_unless_left(p, kQueued, kRunning)) {
        finish_left_process(p);
        return;
    }
    const BifDef& bif = *p.dirty_bif;
    s.code_ix = code_index::active();
    s.process = &p;
    p.scheduler = &s;
    p.x = s.x;
    p.outcome = BifOutcome::exception;
    const uint32_t subject = records::subject(p.id);
    const uint64_t function = records::function(*bif.exp);
    recorder::set_subject(subject);
    MINIVM_EVENT(dirty_start, subject, function, uint64_t{io});
    Term args[256];
    for (unsigned i = 0; i < bif.arity; ++i) {
        args[i] = p.saved_x[i];
    }
    // The arguments stay in saved_x: a failing BIF's stack trace shows them.
    const uint64_t before = monotonic_ns();
    const Term result = bif.fn(p, args);
    MINIVM_EVENT(dirty_end, subject, function, monotonic_ns() - before);
    recorder::set_subject(0);
    p.dirty_ok = is_value(result);
    if (p.dirty_ok) {
        save_x_registers(p, &result, 1);
    } else if (p.outcome == BifOutcome::trap || p.outcome == BifOutcome::yield || p.outcome == BifOutcome::wait ||
               p.outcome == BifOutcome::trap_fun) {
        save_x_registers(p, s.x, trap_live(p));
    }
    s.process = nullptr;
    p.scheduler = nullptr;
    p.x = nullptr;
    if (change_unless_left(p, kRunning | kDirty | kKept | kWaiting, kQueued)) {
        enqueue_process(p);
    } else {
        finish_left_process(p);
    }
}

void run_job(Job* job) {
    job->run(job->data);
    delete job;
}

// Looks for new work for a while, unless another thread does.
void search(Pool& pool, std::unique_lock<std::mutex>& lock) {
    constexpr int kLooks = 2000;  // 25 to 100 us, depending on the processor's pause instruction
    // relaxed: under the mutex.
    if (pool.searching.load(std::memory_order_relaxed)) {
        return;
    }
    // seq_cst: see wake().
    pool.searching.store(true, std::memory_order_seq_cst);
    lock.unlock();
    for (int i = 0; i < kLooks; ++i) {
        // relaxed: a hint; the work is taken under the mutex.
        if (pool.new_processes.load(std::memory_order_relaxed) != nullptr ||
            pool.new_jobs.load(std::memory_order_relaxed) != nullptr ||
            // relaxed: as above.
            pool.stopping.load(std::memory_order_relaxed)) {
            break;
        }
        pause_cpu();
    }
    lock.lock();
    // seq_cst: see wake().
    pool.searching.store(false, std::memory_order_seq_cst);
}

// Returns with work in a queue; false: the pool stops. `bit`: the thread's own, for wake().
bool wait_for_work(Pool& pool, uint32_t bit, bool has_worked, std::unique_lock<std::mutex>& lock) {
    for (bool may_search = has_worked;; may_search = false) {
        // acquire: pairs with stop_pool().
        if (pool.stopping.load(std::memory_order_acquire)) {
            return false;
        }
        if (has_work_locked(pool)) {
            return true;
        }
        if (may_search) {
            search(pool, lock);
            continue;
        }
        // seq_cst: see wake().
        const uint32_t wakes = pool.wakes.load(std::memory_order_seq_cst);
        pool.idle.fetch_add(1, std::memory_order_seq_cst);
        // acquire: as above.
        if (!has_work_locked(pool) && !pool.stopping.load(std::memory_order_acquire)) {
            if (has_worked) {
                pool.last_worker.store(bit, std::memory_order_relaxed);  // relaxed: a hint
            }
            lock.unlock();
            activity::set(Activity::sleep);
            syscall(SYS_futex, reinterpret_cast<uint32_t*>(&pool.wakes), FUTEX_WAIT_BITSET_PRIVATE, wakes,
                    nullptr, nullptr, bit);
            activity::set(Activity::other);
            lock.lock();
        }
        // seq_cst: as above.
        pool.idle.fetch_sub(1, std::memory_order_seq_cst);
    }
}

void dirty_main(Pool* pool, unsigned number);

void start_thread_locked(Pool& pool) {
    ++pool.running;
    try {
        pool.threads.emplace_back(dirty_main, &pool, static_cast<unsigned>(pool.threads.size()));
    } catch (const std::system_error& error) {
        // The operating system gives no more threads: the existing ones do the work. There has to be one.
        if (--pool.running == 0) {
            fault::end_vm((std::string("Failed to create dirty ") + (&pool == &g_cpu ? "cpu" : "io") +
                           " scheduler thread 1: " + error.what())
                              .c_str());
        }
    }
}

void dirty_main(Pool* pool, unsigned number) {
    const uint32_t bit = 1u << (number % 32);
    auto scheduler = std::make_unique<Scheduler>();
    set_this_scheduler(scheduler.get());
    recorder::attach_thread(pool->name);
    pthread_setname_np(pthread_self(), pool->name);
    lock_waits::set_has_clock();
    if (pool != &g_own) {
        activity::attach(pool == &g_io ? activity::ThreadKind::dirty_io_scheduler
                                       : activity::ThreadKind::dirty_cpu_scheduler,
                         static_cast<int>(number) + 1);
    }
    activity::set(Activity::other);
    fault::prepare_thread();
    prepare_malloc_of_thread();
    bool ran_process = false;
    for (bool has_worked = false;; has_worked = true) {
        Process* p = nullptr;
        Job* job = nullptr;
        {
            std::unique_lock lock(pool->mutex);
            pool->busy -= ran_process ? 1 : 0;
            if (!wait_for_work(*pool, bit, has_worked, lock)) {
                break;
            }
            ran_process = !pool->queue.empty() && pool->busy < pool->online;
            if (ran_process) {
                ++pool->busy;
                p = pool->queue.pop();
                // relaxed: a number to show.
                pool->waiting.fetch_sub(1, std::memory_order_relaxed);
            } else {
                job = pool->jobs.front();
                pool->jobs.pop_front();
            }
            // seq_cst: as in wake(): a thread counted idle here sees work that comes later.
            if (pool->idle.load(std::memory_order_seq_cst) == 0 && pool->running < pool->limit) {
                start_thread_locked(*pool);
            } else if (has_work_locked(*pool)) {
                wake_idle(*pool, FUTEX_BITSET_MATCH_ANY);
            }
        }
        activity::set(p != nullptr ? Activity::emulator : Activity::aux);
        if (p != nullptr) {
            run_one(*scheduler, *p, pool != &g_cpu);
        } else {
            run_job(job);
        }
        activity::set(Activity::other);
    }
    recorder::detach_thread();
    set_this_scheduler(nullptr);
    std::lock_guard lock(pool->mutex);
    --pool->running;
    pool->ended.notify_all();
}

bool stop_pool(Pool& pool) {
    std::unique_lock lock(pool.mutex);
    // seq_cst: before the threads are woken; see wake().
    pool.stopping.store(true, std::memory_order_seq_cst);
    pool.wakes.fetch_add(1, std::memory_order_seq_cst);
    syscall(SYS_futex, reinterpret_cast<uint32_t*>(&pool.wakes), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr,
            nullptr, 0);
    // A BIF in a system call may never return; one that computes gets some time to end.
    const bool ended = pool.ended.wait_for(lock, std::chrono::milliseconds(200),
                                           [&pool] { return pool.running == 0; });
    lock.unlock();
    for (std::thread& t : pool.threads) {
        if (ended) {
            t.join();
        } else {
            t.detach();
        }
    }
    pool.threads.clear();
    if (ended) {
        has_work_locked(pool);
        pool.queue.clear();
        // relaxed: a number to show.
        pool.waiting.store(0, std::memory_order_relaxed);
        while (!pool.jobs.empty()) {
            Job* const job = pool.jobs.front();
            pool.jobs.pop_front();
            run_job(job);
        }
    }
    return ended;
}

}  // namespace

namespace dirty {

Hold::Hold(Process& p) {
    // seq_cst: after a signal that the caller has pushed; see go_dirty().
    uint32_t old = p.state.load(std::memory_order_seq_cst);
    // The thread that ends p holds it for as long as that takes; others do not wait for it, they see p as gone.
    while ((old & kDirty) != 0 && (old & kExiting) == 0) {
        if ((old & kHeld) != 0) {
            sched_yield();
            // seq_cst: as above.
            old = p.state.load(std::memory_order_seq_cst);
            // seq_cst: acquires what was saved before p was handed over; see go_dirty().
        } else if (p.state.compare_exchange_weak(old, old | kHeld, std::memory_order_seq_cst)) {
            process_ = &p;
            return;
        }
    }
}
bool Hold::withdraw(Term from, RefId ref) const {
    // acquire: pairs with push_signal(). Only the owner takes signals out, and it waits for us.
    for (Signal* s = process_->mailbox.outer.load(std::memory_order_acquire); s != nullptr; s = s->next) {
        if (s->kind != SignalKind::rpc || s->from != from) {
            continue;
        }
        auto* const request = static_cast<ControlSignal*>(s);
        if (request->ref == ref) {
            request->run = nullptr;
            request->gone = nullptr;
            return true;
        }
    }
    return false;
}

void Hold::leave() {
    // relaxed: the destructor's change of the state follows and releases it.
    process_->state.fetch_or(kLeft, std::memory_order_relaxed);
}

Hold::~Hold() {
    if (process_ != nullptr) {
        // seq_cst: releases: our reads come before p goes on.
        process_->state.fetch_and(~kHeld, std::memory_order_seq_cst);
    }
}

void start(int cpu, int io) {
    for (Pool* pool : {&g_cpu, &g_io, &g_own}) {
        std::lock_guard lock(pool->mutex);
        pool->limit = pool == &g_cpu ? cpu : pool == &g_io ? io : kOwnThreads;
        pool->online = INT_MAX;
        pool->name = pool == &g_cpu ? "dirty cpu" : pool == &g_io ? "dirty io" : "vm io";
        // relaxed: the schedulers start later.
        pool->stopping.store(false, std::memory_order_relaxed);
        start_thread_locked(*pool);
    }
}

bool stop() {
    const bool cpu = stop_pool(g_cpu);
    const bool io = stop_pool(g_io);
    const bool own = stop_pool(g_own);
    return cpu && io && own;
}

void enqueue(Process& p) {
    Pool& pool = !p.dirty_bif->has_any(kBifDirtyIo)   ? g_cpu
                 : p.dirty_bif->has_any(kBifLeavable) ? g_io
                                                      : g_own;
    // acquire: pairs with stop_pool(), which is called after all schedulers have ended.
    if (pool.stopping.load(std::memory_order_acquire)) {
        return;
    }
    // relaxed: a number to show.
    pool.waiting.fetch_add(1, std::memory_order_relaxed);
    push(pool.new_processes, &p, &Process::next_in_queue);
    wake(pool);
}

void run(void (*job)(void*), void* data) {
    // Without schedulers (tests, the VM's end) the job keeps no process waiting.
    // acquire: as above.
    if (g_cpu.stopping.load(std::memory_order_acquire)) {
        job(data);
        return;
    }
    push(g_cpu.new_jobs, new Job{job, data, nullptr}, &Job::next);
    wake(g_cpu);
}

void set_online_cpu(int n) {
    {
        const std::lock_guard lock(g_cpu.mutex);
        g_cpu.online = n;
    }
    for (int i = 0; i < n; ++i) {
        wake(g_cpu);
    }
}

uint64_t queued(bool io) {
    // relaxed: a number to show.
    return (io ? g_io : g_cpu).waiting.load(std::memory_order_relaxed);
}

}  // namespace dirty

}  // namespace minivm
