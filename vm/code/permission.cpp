#include "vm/code/permission.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "vm/code/waiter.hpp"
#include "vm/util/assert.hpp"
#include "vm/util/lock.hpp"

namespace minivm::code_permission {
namespace {

CountedMutex g_lock{LockKind::permission};
std::condition_variable_any g_free;  // for threads that are no schedulers
bool g_taken = false;
std::vector<Term> g_waiting;     // pids, in the order they asked

}  // namespace

bool seize_or_queue(Term pid) {
    const std::lock_guard lock(g_lock);
    if (!g_taken) {
        g_taken = true;
        return true;
    }
    if (std::find(g_waiting.begin(), g_waiting.end(), pid) == g_waiting.end()) {
        g_waiting.push_back(pid);
    }
    return false;
}

bool is_queued(Term pid) {
    const std::lock_guard lock(g_lock);
    return std::find(g_waiting.begin(), g_waiting.end(), pid) != g_waiting.end();
}

void seize_blocking() {
    std::unique_lock lock(g_lock);
    g_free.wait(lock, [] { return !g_taken; });
    g_taken = true;
}

void release() {
    std::vector<Term> woken;
    {
        const std::lock_guard lock(g_lock);
        MINIVM_ASSERT(g_taken);
        g_taken = false;
        woken.swap(g_waiting);
        g_free.notify_one();
    }
    // Wakes all of them, because the first may be dead. Whichever asks first gets the permission.
    for (Term pid : woken) {
        wake_up_pid(pid);
    }
}

}  // namespace minivm::code_permission
