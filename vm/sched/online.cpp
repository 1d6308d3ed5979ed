#include "vm/sched/online.hpp"

#include "vm/process/process_life.hpp"
#include "vm/sched/scheduler.hpp"
#include "vm/sched/scheduler_thread.hpp"

#include <algorithm>
#include <mutex>

namespace minivm::online {
namespace {

std::mutex g_mutex;
// Under the mutex.
int g_schedulers = 1;
int g_dirty_cpu = 1;
std::vector<Term> g_blockers[2];  // pids: block_normal; block
bool g_has_hook = false;

std::vector<Term>& blockers_of(bool normal) {
    return g_blockers[normal ? 0 : 1];
}
int active_locked() {
    return g_blockers[0].empty() && g_blockers[1].empty() ? g_schedulers : 1;
}

void release(Process& p) {
    if (!p.blocks_schedulers) {
        return;
    }
    const std::lock_guard lock(g_mutex);
    for (std::vector<Term>& list : g_blockers) {
        std::erase(list, p.id);
    }
    set_active_schedulers(active_locked());
}

}  // namespace

void start(int schedulers, int dirty_cpu) {
    const std::lock_guard lock(g_mutex);
    g_schedulers = schedulers;
    g_dirty_cpu = dirty_cpu;
    for (std::vector<Term>& list : g_blockers) {
        list.clear();
    }
    set_active_schedulers(schedulers);
    if (!g_has_hook) {
        g_has_hook = true;
        at_process_exit(release);
    }
}

int schedulers() {
    const std::lock_guard lock(g_mutex);
    return g_schedulers;
}
int dirty_cpu() {
    const std::lock_guard lock(g_mutex);
    return g_dirty_cpu;
}
int active() {
    const std::lock_guard lock(g_mutex);
    return active_locked();
}

int set_schedulers(int n) {
    if (n < 1 || n > vm::scheduler_count()) {
        return 0;
    }
    const std::lock_guard lock(g_mutex);
    const int old = g_schedulers;
    // In steps of a percent, as in OTP.
    const int of_all = vm::dirty_cpu_count() * 100 / vm::scheduler_count();
    g_dirty_cpu = std::max(1, g_dirty_cpu * (n * of_all / old) / 100);
    g_dirty_cpu = std::min(g_dirty_cpu, vm::dirty_cpu_count());
    g_schedulers = n;
    dirty::set_online_cpu(g_dirty_cpu);
    set_active_schedulers(active_locked());
    return old;
}
int set_dirty_cpu(int n) {
    const std::lock_guard lock(g_mutex);
    if (n < 1 || n > vm::dirty_cpu_count() || n > g_schedulers) {
        return 0;
    }
    const int old = g_dirty_cpu;
    g_dirty_cpu = n;
    dirty::set_online_cpu(n);
    return old;
}

const char* state() {
    const std::lock_guard lock(g_mutex);
    return !blockers_of(false).empty()  ? "blocked"
           : !blockers_of(true).empty() ? "blocked_normal"
                                        : "enabled";
}
void block(Process& p, bool normal) {
    p.blocks_schedulers = true;
    const std::lock_guard lock(g_mutex);
    blockers_of(normal).push_back(p.id);
    set_active_schedulers(active_locked());
}
void unblock(Process& p, bool normal) {
    const std::lock_guard lock(g_mutex);
    std::vector<Term>& list = blockers_of(normal);
    const auto own = std::find(list.begin(), list.end(), p.id);
    if (own != list.end()) {
        list.erase(own);
        set_active_schedulers(active_locked());
    }
}
std::vector<Term> blockers(bool normal) {
    const std::lock_guard lock(g_mutex);
    return blockers_of(normal);
}

}  // namespace minivm::online
