#include "vm/process/timer_wheel.hpp"

#include <ctime>

#include "vm/util/assert.hpp"

namespace minivm {

uint64_t monotonic_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

TimerWheel::TimerWheel(uint64_t now_ms) : now_ms_(now_ms) {}

// Ring r holds timers whose due time differs from now_ms_ in byte r (counted from below) and in no higher
// byte, at the place of that byte; so the higher bytes of a ring's timers equal those of now_ms_.
void TimerWheel::place(TimerNode* node) {
    uint64_t due = node->due_ms;
    if (due <= now_ms_) {
        due = now_ms_ + 1;
    }
    constexpr uint64_t kReach = (uint64_t{1} << (8 * kRings)) - 1;
    if ((due ^ now_ms_) > kReach) {
        due = now_ms_ | kReach;  // placed again when the last ring has gone round
        if (due == now_ms_) {
            due = now_ms_ + 1;
        }
    }
    const uint64_t differs = due ^ now_ms_;
    int ring = 0;
    while (ring < kRings - 1 && (differs >> (8 * (ring + 1))) != 0) {
        ++ring;
    }
    TimerNode** first = &rings_[ring][(due >> (8 * ring)) & 0xFF];
    node->next = *first;
    if (node->next != nullptr) {
        node->next->link = &node->next;
    }
    node->link = first;
    *first = node;
}

bool TimerWheel::set_locked(TimerNode* node, uint64_t due_ms) {
    MINIVM_ASSERT(node->link == nullptr);
    node->due_ms = due_ms;
    node->wheel = this;
    place(node);
    ++count_;
    // relaxed: written under the lock; see next_due_ms().
    if (due_ms < next_due_ms_.load(std::memory_order_relaxed)) {
        // relaxed: as above.
        next_due_ms_.store(due_ms, std::memory_order_relaxed);
        return true;
    }
    return false;
}

bool TimerWheel::set(TimerNode* node, uint64_t due_ms) {
    std::lock_guard guard(mutex_);
    return set_locked(node, due_ms);
}

bool TimerWheel::cancel_locked(TimerNode* node) {
    if (node->link == nullptr) {
        return false;
    }
    *node->link = node->next;
    if (node->next != nullptr) {
        node->next->link = node->link;
    }
    node->next = nullptr;
    node->link = nullptr;
    --count_;
    // next_due_ms_ may now be too early: the scheduler looks once in vain.
    return true;
}

bool TimerWheel::cancel(TimerNode* node) {
    std::lock_guard guard(mutex_);
    return cancel_locked(node);
}

// Timers enter a place at its front, so its list is newest first; this returns it oldest first. `link` of
// its nodes is invalid afterwards.
static TimerNode* oldest_first(TimerNode* list) {
    TimerNode* result = nullptr;
    while (list != nullptr) {
        TimerNode* next = list->next;
        list->next = result;
        result = list;
        list = next;
    }
    return result;
}

// Deals out the place of `ring` to which its hand now points to the finer rings.
void TimerWheel::deal_out(int ring) {
    TimerNode** first = &rings_[ring][(now_ms_ >> (8 * ring)) & 0xFF];
    TimerNode* node = oldest_first(*first);
    *first = nullptr;
    while (node != nullptr) {
        TimerNode* next = node->next;
        node->link = nullptr;
        if (node->due_ms <= now_ms_) {
            // Due in this millisecond: advance() fires this place of the finest ring after dealing out.
            TimerNode** here = &rings_[0][now_ms_ & 0xFF];
            node->next = *here;
            if (node->next != nullptr) {
                node->next->link = &node->next;
            }
            node->link = here;
            *here = node;
        } else {
            place(node);
        }
        node = next;
    }
}

// The earliest time at which a place that holds timers is due or must be dealt out; no later than any timer.
uint64_t TimerWheel::find_next() const {
    if (count_ == 0) {
        return ~uint64_t{0};
    }
    for (int ring = 0; ring < kRings; ++ring) {
        const unsigned hand = (now_ms_ >> (8 * ring)) & 0xFF;
        for (unsigned i = hand + 1; i < kPlaces; ++i) {
            if (rings_[ring][i] != nullptr) {
                const uint64_t above = now_ms_ >> (8 * (ring + 1)) << (8 * (ring + 1));
                return above | (uint64_t{i} << (8 * ring));
            }
        }
    }
    // Only timers beyond the last ring's turn are left, at its last place (place() puts them there).
    return now_ms_ + 1;
}

unsigned TimerWheel::advance(uint64_t now_ms) {
    unsigned fired = 0;
    TimerNode* others = nullptr;  // in the order in which they fire
    TimerNode** others_end = &others;
    {
        std::lock_guard guard(mutex_);
        while (now_ms_ < now_ms) {
            // Jumps over empty places: no timer is due before `next`.
            const uint64_t next = find_next();
            if (next > now_ms) {
                now_ms_ = now_ms;
                break;
            }
            now_ms_ = next;
            for (int ring = kRings - 1; ring > 0; --ring) {
                // A ring's hand moves when the hands of all finer rings are at zero.
                if ((now_ms_ & ((uint64_t{1} << (8 * ring)) - 1)) == 0) {
                    deal_out(ring);
                }
            }
            TimerNode* node = oldest_first(rings_[0][now_ms_ & 0xFF]);
            rings_[0][now_ms_ & 0xFF] = nullptr;
            while (node != nullptr) {
                TimerNode* following = node->next;
                node->next = nullptr;
                node->link = nullptr;
                if (node->due_ms > now_ms_) {
                    place(node);  // was beyond the reach of the rings
                } else {
                    --count_;
                    ++fired;
                    if (node->is_receive) {
                        fire_receive_timer(node);
                    } else {
                        *others_end = node;
                        others_end = &node->next;
                    }
                }
                node = following;
            }
        }
        // relaxed: written under the lock; see next_due_ms().
        next_due_ms_.store(find_next(), std::memory_order_relaxed);
        // A BIF timer that fires can no longer be cancelled or read.
        for (TimerNode* t = others; t != nullptr; t = t->next) {
            forget_bif_timer(*this, t);
        }
    }
    deliver_bif_timers(others);
    return fired;
}

TimerNode* TimerWheel::take_all() {
    std::lock_guard guard(mutex_);
    TimerNode* all = nullptr;
    for (auto& ring : rings_) {
        for (TimerNode*& first : ring) {
            while (first != nullptr) {
                TimerNode* node = first;
                cancel_locked(node);
                node->next = all;
                all = node;
            }
        }
    }
    return all;
}

}  // namespace minivm
