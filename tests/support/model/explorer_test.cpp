// What the other models rely on: that states which differ are not taken for one, and that whoever
// forgets too much is found out.
#if !defined(__SANITIZE_THREAD__)
#include "tests/support/model/atomics.hpp"
#include "tests/support/model/mutants.hpp"

#include <catch2/catch.hpp>

namespace minivm {
namespace {

using model::Atomic;

// Two that write a word each and read the other's: one of them has to find the other, or both.
template <std::memory_order kOrder>
struct StoreBuffering final : model::World {
    Atomic<int> word[2]{Atomic<int>(0), Atomic<int>(0)};
    int found[2] = {};
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        word[thread].store(1, kOrder);
        found[thread] = word[1 - thread].load(kOrder);
    }
    void end() override { model::require(found[0] + found[1] > 0, "nobody finds the other"); }
};

// Goes wrong if the second runs between two accesses of the first, and the first between two of the
// second then.
struct InTurn final : model::World {
    Atomic<int> first{0}, second{0};
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        if (thread == 0) {
            first.store(1, std::memory_order_relaxed);
            model::require(second.load(std::memory_order_relaxed) != 1, "in turn");
            first.store(2, std::memory_order_relaxed);
        } else if (first.load(std::memory_order_relaxed) == 1) {
            second.store(1, std::memory_order_relaxed);
            second.store(2, std::memory_order_relaxed);
        }
    }
};

// Counts what it has found in a word that another thread changes. It may forget which values these
// were, but not how many.
template <bool kTooMuch>
struct Forgetful final : model::World {
    Atomic<int> word{0};
    unsigned threads() const override { return 2; }
    bool digest_is_whole() const override { return true; }
    void run(unsigned thread) override {
        if (thread == 0) {
            word.store(1, std::memory_order_relaxed);
            word.store(2, std::memory_order_relaxed);
            return;
        }
        int ones = 0;
        for (int i = 0; i < 3; i++) {
            ones += word.load(std::memory_order_relaxed) == 1 ? 1 : 0;
            model::forget(static_cast<uint64_t>(kTooMuch ? i : i * 10 + ones));
        }
        if (ones == 2) {
            word.store(3, std::memory_order_relaxed);
        }
        word.load(std::memory_order_relaxed);
    }
};

}  // namespace

TEST_CASE("model: two that write and then read do not find each other unless in one order") {
    CHECK(model::explore(model::make<StoreBuffering<std::memory_order_seq_cst>>).error == "");
    CHECK(model::explore(model::make<StoreBuffering<std::memory_order_relaxed>>).error != "");
}

TEST_CASE("model: an error is found with as many preemptions as it takes, not with fewer") {
    for (int preemptions = 0; preemptions < 5; preemptions++) {
        const model::Limits limits{.max_preemptions = preemptions, .strong = true};
        CHECK((model::explore(model::make<InTurn>, limits).error != "") == (preemptions >= 2));
    }
}

TEST_CASE("model: who forgets more than it goes on by is found out") {
    const model::Limits limits{.doubt = 4};
    CHECK(model::explore(model::make<Forgetful<false>>, limits).error == "");
    CHECK(model::explore(model::make<Forgetful<true>>, limits).error.find("two paths") == 0);
}

}  // namespace minivm

#endif
