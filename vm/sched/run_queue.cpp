#include "vm/sched/run_queue.hpp"

#include <algorithm>

namespace minivm {

namespace {
constexpr int kMax = static_cast<int>(Priority::max);
constexpr int kHigh = static_cast<int>(Priority::high);
constexpr int kNormal = static_cast<int>(Priority::normal);
constexpr int kLow = static_cast<int>(Priority::low);
}  // namespace

void RunQueue::List::append(Process* p) {
    p->next_in_queue = nullptr;
    (last == nullptr ? first : last->next_in_queue) = p;
    last = p;
    // relaxed: written under the lock; see length_of().
    length.store(length.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void RunQueue::List::remove(Process* p, Process* before) {
    (before == nullptr ? first : before->next_in_queue) = p->next_in_queue;
    if (last == p) {
        last = before;
    }
    p->next_in_queue = nullptr;
    // relaxed: as above.
    length.store(length.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void RunQueue::push_locked(Process* p) {
    // relaxed, both: see raise_process(). An old wish makes p handle its signals once more than it needs to.
    const uint8_t wish = p->raise_wish.load(std::memory_order_relaxed);
    if (MINIVM_UNLIKELY(wish != 0)) {
        p->raise_wish.store(0, std::memory_order_relaxed);
        const auto to = static_cast<Priority>(wish - 1);
        if (to < (p->raised ? p->raised_to : p->priority)) {
            p->raised = true;
            p->raised_to = to;
        }
    }
    // A raised process stays raised when it moves to another queue.
    lists_[static_cast<int>(p->raised ? p->raised_to : p->priority)].append(p);
    count_bound(*p, 1);
}

Process* RunQueue::take_locked(List& list, Process* p, Process* before) {
    list.remove(p, before);
    count_bound(*p, ~uint32_t{0});
    return p;
}

Process* RunQueue::pop_from(int priority) {
    List& list = lists_[priority];
    return take_locked(list, list.first, nullptr);
}

// The most urgent process that may move to another scheduler.
Process* RunQueue::pop_unbound_locked() {
    // relaxed: under the lock.
    if (bound_.load(std::memory_order_relaxed) == 0) {
        return pop_locked();
    }
    for (const int priority : {kMax, kHigh, kNormal, kLow}) {
        List& list = lists_[priority];
        Process* before = nullptr;
        for (Process* p = list.first; p != nullptr; before = p, p = p->next_in_queue) {
            if (p->bound_to != 0) {
                continue;
            }
            list.remove(p, before);
            return p;
        }
    }
    return nullptr;
}

Process* RunQueue::pop_locked() {
    int priority = kMax;
    if (lists_[kMax].first == nullptr) {
        priority = kHigh;
    }
    if (lists_[priority].first == nullptr) {
        const uint32_t normal = length_of(Priority::normal);
        const uint32_t low = length_of(Priority::low);
        if (normal + low == 0) {
            return nullptr;
        }
        priority = low_share_.is_turn_of_low(normal, low) ? kLow : kNormal;
    }
    return pop_from(priority);
}

void RunQueue::take_posted_locked() {
    // acquire: pairs with post(), which has written to the processes.
    Process* newest = posted_.load(std::memory_order_acquire);
    if (MINIVM_LIKELY(newest == nullptr)) {
        return;
    }
    // relaxed: written under the lock only.
    const uint32_t before = length_.load(std::memory_order_relaxed);
    do {
        uint32_t n = before;
        for (const Process* p = newest; p != nullptr; p = p->next_in_queue) {
            ++n;
        }
        // seq_cst: before posted_ is cleared, so that length() is never 0 in between.
        length_.store(n, std::memory_order_seq_cst);
        // Only the lock's holder takes processes out, so the chain after `newest` is unchanged if that still is
        // the newest. seq_cst: see length(); acquire as above.
    } while (!posted_.compare_exchange_weak(newest, nullptr, std::memory_order_seq_cst));
    Process* oldest = nullptr;
    while (newest != nullptr) {
        Process* const next = newest->next_in_queue;
        newest->next_in_queue = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != nullptr) {
        Process* const next = oldest->next_in_queue;
        push_locked(oldest);
        oldest = next;
    }
}

void RunQueue::push(Process* p) {
    // A thief may have lost the processor while it holds the lock.
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        post(p);
        return;
    }
    push_locked(p);
    // relaxed: written under the lock only.
    const uint32_t n = length_.load(std::memory_order_relaxed) + 1;
    // seq_cst: before the look for sleepers; see length().
    length_.store(n, std::memory_order_seq_cst);
}

void RunQueue::post(Process* p) {
    // relaxed: the compare-exchange decides.
    Process* newest = posted_.load(std::memory_order_relaxed);
    do {
        p->next_in_queue = newest;
        // seq_cst: before the look for sleepers; see length(). Releases p to take_posted_locked().
    } while (!posted_.compare_exchange_weak(newest, p, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
}

Process* RunQueue::pop() {
    // relaxed: only this queue's scheduler calls pop(); others only steal or post, and it misses no post for good:
    // see length().
    if (length_.load(std::memory_order_relaxed) == 0 &&
        posted_.load(std::memory_order_relaxed) == nullptr) {
        return nullptr;
    }
    std::lock_guard lock(mutex_);
    take_posted_locked();
    Process* p = pop_locked();
    if (p != nullptr) {
        ++turns_[static_cast<int>(p->raised ? p->raised_to : p->priority)];
        // relaxed: written under the lock; no thread waits for it to fall.
        length_.store(length_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
        // relaxed: see pops().
        pops_.store(pops_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    return p;
}

Process* RunQueue::pop_unbound() {
    std::lock_guard lock(mutex_);
    take_posted_locked();
    // relaxed: under the lock.
    const uint32_t n = length_.load(std::memory_order_relaxed);
    if (n == bound_.load(std::memory_order_relaxed)) {
        return nullptr;
    }
    // relaxed: under the lock; no thread waits for it to fall.
    length_.store(n - 1, std::memory_order_relaxed);
    return pop_unbound_locked();
}

Process* RunQueue::pop_random(uint64_t random) {
    std::lock_guard lock(mutex_);
    take_posted_locked();
    // relaxed: under the lock.
    const uint32_t n = length_.load(std::memory_order_relaxed);
    if (n == 0) {
        return nullptr;
    }
    uint32_t skip = static_cast<uint32_t>(random % n);
    for (List& list : lists_) {
        Process* before = nullptr;
        for (Process* p = list.first; p != nullptr; before = p, p = p->next_in_queue) {
            if (skip-- != 0) {
                continue;
            }
            // relaxed: under the lock.
            length_.store(n - 1, std::memory_order_relaxed);
            return take_locked(list, p, before);
        }
    }
    MINIVM_CHECK(!"the length of a run queue is wrong");
    return nullptr;
}

bool RunQueue::raise(Process& p, Priority to) {
    std::lock_guard lock(mutex_);
    take_posted_locked();
    for (int priority = kLow; priority > static_cast<int>(to); --priority) {
        List& list = lists_[priority];
        Process* before = nullptr;
        int looks = 0;
        for (Process* q = list.first; q != nullptr && looks < kRaiseLooks;
             before = q, q = q->next_in_queue, ++looks) {
            if (q != &p) {
                continue;
            }
            list.remove(&p, before);
            p.raised = true;
            p.raised_to = to;
            // relaxed: the wish is fulfilled; the locks order it.
            p.raise_wish.store(0, std::memory_order_relaxed);
            lists_[static_cast<int>(to)].append(&p);
            return true;
        }
    }
    return false;
}

Process* RunQueue::steal(RunQueue& to, uint32_t at_least, uint32_t limit) {
    Process* first = nullptr;
    Process* rest = nullptr;
    Process** link = &rest;
    {
        std::unique_lock lock(mutex_, std::try_to_lock);
        if (!lock.owns_lock()) {
            return nullptr;
        }
        take_posted_locked();
        // relaxed: under the lock.
        uint32_t n = length_.load(std::memory_order_relaxed);
        const uint32_t movable = n - bound_.load(std::memory_order_relaxed);
        if (movable < std::max(at_least, 1u)) {
            return nullptr;
        }
        first = pop_unbound_locked();
        const uint32_t more = std::min((movable - 1) / 2, limit);
        --n;
        for (uint32_t i = 0; i < more; ++i) {
            *link = pop_unbound_locked();
            link = &(*link)->next_in_queue;
            --n;
        }
        // relaxed: under the lock; no thread waits for it to fall.
        length_.store(n, std::memory_order_relaxed);
    }
    while (rest != nullptr) {
        Process* next = rest->next_in_queue;
        to.push(rest);
        rest = next;
    }
    return first;
}

Process* RunQueue::take(Priority priority, uint32_t n) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) {
        return nullptr;
    }
    take_posted_locked();
    Process* taken = nullptr;
    Process** link = &taken;
    uint32_t count = 0;
    List& list = lists_[static_cast<int>(priority)];
    Process* before = nullptr;
    for (Process* p = list.first; p != nullptr && count < n;) {
        Process* const next = p->next_in_queue;
        if (p->bound_to != 0) {
            before = p;
        } else {
            list.remove(p, before);
            *link = p;
            link = &p->next_in_queue;
            ++count;
        }
        p = next;
    }
    // relaxed: under the lock; no thread waits for it to fall.
    length_.store(length_.load(std::memory_order_relaxed) - count, std::memory_order_relaxed);
    return taken;
}

}  // namespace minivm
