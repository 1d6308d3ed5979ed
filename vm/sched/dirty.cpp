// Dirty schedulers: threads that run one BIF of one process at a time, for as long as it takes.
//
// They own the process meanwhile; its signals wait. Threads are started when there is work and none is
// free, up to the limit.
#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "recorder/recorder.hpp"
#include "vm/bif/bif.hpp"
#include "vm/code/code_index.hpp"
#include "vm/code/export.hpp"
#include "vm/fault/fault.hpp"
#include "vm/process/engine_hooks.hpp"
#include "vm/process/state.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/busy_time.hpp"
#include "vm/sched/scheduler_thread.hpp"

namespace minivm {

void set_this_scheduler(Scheduler* s);

namespace {

using namespace process_state;

struct Pool {
    std::mutex mutex;
    std::condition_variable work;
    std::condition_variable ended;
    std::deque<Process*> queue;
    std::vector<std::thread> threads;
    int limit = 0;
    int idle = 0;
    int running = 0;   // threads that have not ended
    bool stopping = false;
    const char* name = "";
};

Pool g_cpu;
Pool g_io;

void run_one(Scheduler& s, Process& p, bool io) {
    // relaxed: the compare-exchange decides.
    uint32_t old = p.state.load(std::memory_order_relaxed);
    // seq_cst: takes p over from the scheduler that put it in the queue (acquire).
    while (!p.state.compare_exchange_weak(old, (old & ~kQueued) | kRunning,
                                          std::memory_order_seq_cst)) {
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
    recorder::record(recorder::EventId::dirty_start, subject, function, uint64_t{io});
    Term args[256];
    for (unsigned i = 0; i < bif.arity; ++i) {
        args[i] = p.saved_x[i];
    }
    // The arguments stay saved: a failing BIF's trace shows them.
    const uint64_t before = monotonic_ns();
    const Term result = bif.fn(p, args);
    recorder::record(recorder::EventId::dirty_end, subject, function, monotonic_ns() - before);
    recorder::set_subject(0);
    p.dirty_ok = is_value(result);
    if (p.dirty_ok) {
        save_x_registers(p, &result, 1);
    } else if (p.outcome == BifOutcome::trap || p.outcome == BifOutcome::yield ||
               p.outcome == BifOutcome::wait) {
        save_x_registers(p, s.x, p.trap_export->arity);
    } else if (p.outcome == BifOutcome::trap_fun) {
        save_x_registers(p, s.x, p.trap_arity + 1);
    }
    s.process = nullptr;
    p.scheduler = nullptr;
    p.x = nullptr;
    // relaxed: the compare-exchange decides.
    old = p.state.load(std::memory_order_relaxed);
    // seq_cst: hands p back to the schedulers (release).
    while (!p.state.compare_exchange_weak(old, (old & ~(kRunning | kDirty | kWaiting)) | kQueued,
                                          std::memory_order_seq_cst)) {
    }
    enqueue_process(p);
}

void dirty_main(Pool* pool) {
    auto scheduler = std::make_unique<Scheduler>();
    set_this_scheduler(scheduler.get());
    recorder::attach_thread(pool->name);
    pthread_setname_np(pthread_self(), pool->name);
    fault::prepare_thread();
    for (;;) {
        Process* p = nullptr;
        {
            std::unique_lock lock(pool->mutex);
            ++pool->idle;
            pool->work.wait(lock, [pool] { return pool->stopping || !pool->queue.empty(); });
            --pool->idle;
            if (pool->stopping) {
                break;
            }
            p = pool->queue.front();
            pool->queue.pop_front();
        }
        run_one(*scheduler, *p, pool == &g_io);
    }
    recorder::detach_thread();
    set_this_scheduler(nullptr);
    std::lock_guard lock(pool->mutex);
    --pool->running;
    pool->ended.notify_all();
}

bool stop_pool(Pool& pool) {
    std::unique_lock lock(pool.mutex);
    pool.stopping = true;
    pool.work.notify_all();
    // A BIF in a system call may never come back; one that computes gets some time to end.
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
    pool.queue.clear();
    return ended;
}

}  // namespace

namespace dirty {

void start(int cpu, int io) {
    for (Pool* pool : {&g_cpu, &g_io}) {
        std::lock_guard lock(pool->mutex);
        pool->stopping = false;
        pool->limit = pool == &g_cpu ? cpu : io;
        pool->name = pool == &g_cpu ? "dirty cpu" : "dirty io";
    }
}

bool stop() {
    const bool cpu = stop_pool(g_cpu);
    const bool io = stop_pool(g_io);
    return cpu && io;
}

void enqueue(Process& p) {
    Pool& pool = (p.dirty_bif->flags & kBifDirtyIo) != 0 ? g_io : g_cpu;
    std::lock_guard lock(pool.mutex);
    if (pool.stopping) {
        return;
    }
    pool.queue.push_back(&p);
    if (pool.idle < static_cast<int>(pool.queue.size()) && pool.running < pool.limit) {
        ++pool.running;
        pool.threads.emplace_back(dirty_main, &pool);
    } else {
        pool.work.notify_one();
    }
}

uint64_t queued(bool io) {
    Pool& pool = io ? g_io : g_cpu;
    std::lock_guard lock(pool.mutex);
    return pool.queue.size();
}

}  // namespace dirty

namespace busy {

int64_t of_thread(pthread_t thread) {
    clockid_t clock;
    timespec t{};
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &t) != 0) {
        return 0;
    }
    return int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}

void add_dirty(bool io, std::vector<int64_t>& all) {
    Pool& pool = io ? g_io : g_cpu;
    std::lock_guard lock(pool.mutex);
    for (size_t i = 0; i < static_cast<size_t>(pool.limit); ++i) {
        all.push_back(i < pool.threads.size() ? of_thread(pool.threads[i].native_handle()) : 0);
    }
}

}  // namespace busy

}  // namespace minivm
