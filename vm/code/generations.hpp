// How generations of the code tables rotate: staging copies what the generation lacks, a store
// makes it active.
//
// With n generations the n-th last commit made the one to be staged active, so it lacks what the last
// n - 1 commits changed, and nothing else.
//
// The atomics are a parameter (`A`, vm/util/atomics.hpp), so that
// tests/vm/code/protocol_model_test.cpp runs this very code on a model of weak memory, in all
// schedules. Threads: only the holder of the code modification permission; any thread may read the
// active index.
#pragma once

#include <atomic>
#include <utility>

namespace minivm {

// Changes names what one commit has changed; it has clear().
template <class A, class Changes, int kGenerations>
class Generations {
public:
    using Index = typename A::template Atomic<int>;

    explicit Generations(Index& active) : active_(active) {}

    int active() const {
        // relaxed: only the holder of the permission commits, and the lock of the permission orders
        // the commits.
        return active_.load(std::memory_order_relaxed);
    }
    int staging() const { return (active() + 1) % kGenerations; }

    // Brings the staging generation up to date with the active one, and begins a new set of
    // changes. copy(changes, from, to) copies everything that a set names.
    template <typename F>
    void begin(F copy) {
        const int from = active();
        const int to = staging();
        for (const Changes& c : changes_) {
            copy(c, from, to);
        }
        for (int i = kGenerations - 2; i > 0; --i) {
            changes_[i] = std::move(changes_[i - 1]);
        }
        changes_[0].clear();
    }
    // What is being staged, or was by the last commit.
    Changes& changes() { return changes_[0]; }

    // Thread progress must have passed since the staging generation was last written: readers load the
    // index relaxed, and only progress makes their tables complete.
    void commit() {
        // relaxed: progress has made the tables complete for every reader; a thread that must find this
        // store learns of it by another word, with acquire.
        active_.store(staging(), std::memory_order_relaxed);
    }

private:
    Index& active_;
    Changes changes_[kGenerations - 1];
};

}  // namespace minivm
