// Staging, commit and reuse of generations (vm/code/generations.hpp) under thread progress
// (vm/progress/thread_progress_core.hpp): the code that the VM runs, on a model of weak memory in all
// schedules. Each wait left out, one generation less, a re-read of the index less has to be
// noticed.
#include "tests/support/model/mutants.hpp"
#include "tests/support/model/progress.hpp"
#include "vm/code/generations.hpp"

#include <catch2/catch.hpp>

namespace minivm {
namespace {

using model::Atomic;
using model::Data;
using model::Participant;

// Two entries of the tables. Commit n makes the first one n, and every second commit the second one
// as well: what it does not change has to come from the generation before.
struct Changed {
    bool entry[2] = {};
    void clear() { entry[0] = entry[1] = false; }
};
constexpr int expected(int entry, int commit) {
    return entry == 0 ? commit : commit - commit % 2;
}

enum class Waits { all, none_for_progress };

// A dirty scheduler loads, one set of modules after the other; a scheduler runs code.
template <int kGenerations, int kCommits, Waits kWaits = Waits::all, bool kRereads = true,
          uint64_t kSteps = 2, int kSlices = 5>
struct Loads final : model::World {
    model::Progress<2, kSteps> core;
    Atomic<int> index{0};
    Generations<model::ProgressPolicy, Changed, kGenerations> generations{index};
    Data<int> table[2][3]{
        {Data<int>(0, "entry 0"), Data<int>(0, "entry 0"), Data<int>(0, "entry 0")},
        {Data<int>(0, "entry 1"), Data<int>(0, "entry 1"), Data<int>(0, "entry 1")}};
    Atomic<int> told{0};  // the last commit that somebody has sent a message about
    model::Mutex permission;
    Participant* runner = core.join();
    int committed = 0;

    Loads() { core.wake(runner); }
    unsigned threads() const override { return 2; }
    // The changes that are staged are those of the commit after the last or of the one before it,
    // as the loader's place says; runner defers nothing, and all work is alike.
    bool digest_is_whole() const override { return true; }
    uint64_t digest() const override {
        auto digest = static_cast<uint64_t>(committed);
        for (const thread_progress::Deferred& d : core.common()) {
            digest = model::hash(digest, d.tag);
        }
        return digest;
    }

    static void commit(void* data) {
        auto* self = static_cast<Loads*>(data);
        self->generations.commit();
        // release: a message, or another of the ways to learn of new code.
        self->told.store(self->committed + 1, std::memory_order_release);
        self->permission.lock();
        self->committed++;
        self->permission.unlock();
    }
    void load(int n) {
        model::wait_until(committed, n - 1);
        model::forget(static_cast<uint64_t>(2 * n));
        permission.lock();
        permission.unlock();
        generations.begin([this](const Changed& c, int from, int to) {
            for (int e = 0; e < 2; e++) {
                if (c.entry[e]) {
                    table[e][to] = static_cast<int>(table[e][from]);
                }
            }
        });
        for (int e = 0; e < 2; e++) {
            if (expected(e, n) == n) {
                table[e][generations.staging()] = n;
                generations.changes().entry[e] = true;
            }
        }
        model::forget(static_cast<uint64_t>(2 * n + 1));
        if (kWaits == Waits::all) {
            core.later(commit, this);
        } else {
            commit(this);
        }
    }
    // Returns which commit the code that is run belongs to.
    int call(int ix, int at_least) {
        const int n = table[0][ix];
        const int other = table[1][ix];
        model::require(n % kGenerations == ix, "an entry is of another generation");
        model::require(other == expected(1, n), "one module is of another commit than the other");
        model::require(n >= at_least, "whoever has learned of new code runs old code");
        return n;
    }
    void run(unsigned thread) override {
        if (thread == 0) {
            for (int n = 1; n <= kCommits; n++) {
                load(n);
            }
            return;
        }
        int seen = 0;
        const auto forget = [&](int slice, int place, int index) {
            model::forget(static_cast<uint64_t>(((slice * 3 + place) * 10 + seen) * 10 + index));
        };
        for (int slice = 0; slice < kSlices; slice++) {
            // relaxed: as code_index::active().
            int ix = index.load(std::memory_order_relaxed);
            seen = call(ix, seen);
            forget(slice, 0, ix);
            // acquire: a message is received.
            const int learned = told.load(std::memory_order_acquire);
            if (kRereads) {
                // relaxed: as code_index::active().
                ix = index.load(std::memory_order_relaxed);
            }
            seen = call(ix, learned > seen ? learned : seen);
            forget(slice, 1, 0);
            core.quiescent(runner);
            forget(slice, 2, 0);
        }
        core.sleep(runner);
    }
    void end() override { model::require(committed == kCommits, "a load has not been committed"); }
};

}  // namespace

TEST_CASE("model: with three generations a scheduler sees all of a commit or nothing of it") {
    const model::Limits limits{.max_preemptions = 2};
    const model::Result result = model::explore(model::make<Loads<3, 4>>, limits);
    CHECK(result.error == "");
    CHECK(result.complete);
    CHECK(result.unordered_stores == 0);
    CHECK(result.states > 10'000);
}

// Run by hand: minivm_tests "[model]".
TEST_CASE("model: three generations, five commits, one preemption more", "[.][model]") {
    const model::Limits limits{.max_preemptions = 3};
    const model::Result result = model::explore(model::make<Loads<3, 5>>, limits);
    CHECK(result.error == "");
    CHECK(result.complete);
    CHECK(result.unordered_stores == 0);
    CHECK(result.states > 1'000'000);
}

TEST_CASE("model: a loader and a scheduler that forget go on by what they have not forgotten") {
    const model::Limits limits{.max_preemptions = 2, .doubt = 4};
    const model::Result result =
        model::explore(model::make<Loads<3, 2, Waits::all, true, 2, 2>>, limits);
    CHECK(result.error == "");
    CHECK(result.complete);
}

TEST_CASE("model: with two generations the next load writes what a scheduler still reads") {
    const model::Limits limits{.max_preemptions = 2};
    const std::string error = model::explore(model::make<Loads<2, 3>>, limits).error;
    INFO(error);
    CHECK(error.find("data ") == 0);
}

TEST_CASE("model: without a wait for progress a scheduler finds the index before the table") {
    const model::Limits limits{.max_preemptions = 2};
    const auto make = model::make<Loads<3, 4, Waits::none_for_progress>>;
    CHECK(model::explore(make, limits).error.find("data ") == 0);
}

TEST_CASE("model: one step of the epoch is not enough for a commit") {
    const model::Limits limits{.max_preemptions = 3};
    const auto make = model::make<Loads<3, 4, Waits::all, true, 1>>;
    CHECK(model::explore(make, limits).error != "");
}

TEST_CASE("model: without a re-read of the index whoever has learned of new code runs old code") {
    const model::Limits limits{.max_preemptions = 2};
    const auto make = model::make<Loads<3, 4, Waits::all, false>>;
    const std::string error = model::explore(make, limits).error;
    CHECK(error.find("whoever has learned of new code runs old code") == 0);
}

TEST_CASE("model: what could be taken from a commit is missed") {
    const model::Scenario scenarios[] = {{"loads", model::make<Loads<3, 4>>}};
    const auto found =
        model::run_mutants(scenarios, "generations.hpp", [](const auto&) { return true; });
    CHECK(found.size() == 1);  // a commit's store left out; its order is the weakest there is
    for (const auto& [mutant, error] : found) {
        INFO(model::to_string(mutant));
        CHECK(error != "");
    }
}

}  // namespace minivm
