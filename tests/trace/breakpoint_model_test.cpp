// A model of how breakpoints are set, changed and cleared (docs/protocols/tracing.md, "The sequence"), in all schedules and with
// weak memory. The sequence (trace/breakpoint_steps.hpp) is the code that the VM runs; what its steps do to code, entries and
// tables, and what calls find there, is written down here. Thread progress is taken for what tests/vm/code/protocol_model_test.cpp
// shows of it: all have been at a quiescent point. Each wait left out has to be missed.
#include "tests/support/model/atomics.hpp"
#include "tests/support/model/explorer.hpp"
#include "tests/support/model/mutants.hpp"
#include "trace/breakpoint_steps.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <utility>

namespace minivm {
namespace {

using model::Atomic;
using model::Data;

using trace::ChangeWait;

// What a mutant leaves out: nothing, a wait, or the one after the change.
constexpr int kNothing = -1, kOfFreed = -2;
constexpr int number(ChangeWait wait) { return static_cast<int>(wait); }

// f and g have breakpoints in their code, e has one in its export entry; h has one that no change is about.
enum Function { f, g, e, h };
constexpr int kAll = 15, kH = 1 << h;  // functions in a table
enum class Calls { code, entry, others };
// What f, g and e do before the first change and after each; 0: they have no breakpoint.
constexpr int kActions[] = {0, 1, 2, 0, 3};
// The changes of a world: the first of them, and how many.
struct Changes {
    int first, count;
};
constexpr Changes kSet{0, 1}, kChange{1, 1}, kClear{2, 1}, kEach{0, 4};

// A thread changes, a scheduler calls.
template <Changes kChanges, Calls kCalls, bool kEntries = true, int kLeftOut = kNothing>
struct Breakpoints final : model::World, trace::ChangeSteps<Breakpoints<kChanges, kCalls, kEntries, kLeftOut>> {
    static constexpr int kFirst = kActions[kChanges.first];
    static constexpr int kSlices = 1 + 6 * kChanges.count;

    // The breakpoints of f, g and e, which come and go together.
    struct Three {
        Data<int> alive{1, "breakpoint"};
        Data<int> half[3][2]{{Data<int>(kFirst, "half"), Data<int>(kFirst, "half")},
                             {Data<int>(kFirst, "half"), Data<int>(kFirst, "half")},
                             {Data<int>(kFirst, "half"), Data<int>(kFirst, "half")}};
    };
    Three three[2];
    Atomic<int> active{0};  // half
    Atomic<int> code{0};    // index
    Atomic<int> table{0};   // that was published last
    Atomic<int> armed[2]{Atomic<int>(kFirst != 0), Atomic<int>(kFirst != 0)};
    // By generation: whether e's entry leads to its stub.
    Data<int> stub[3]{Data<int>(kFirst != 0, "entry"), Data<int>(0, "entry"), Data<int>(0, "entry")};
    // Which functions are in it, by bits, and which Three; 0: it has been freed.
    struct Table {
        Data<int> functions{0, "table"};
        int which = 0;
    };
    Table tables[4];

    // The thread's own.
    int done = 0, switches = 0, commits = 0, last_table = 0, of_now = 0;
    bool any_armed = kFirst != 0, any_stub = kFirst != 0;
    // Work after thread progress: of the change, and the freeing of what the last one took out.
    struct Work {
        void (*f)(void*) = nullptr;
        void* data = nullptr;
    };
    Work next, freeing;
    int dead_table = 0, dead = 0;

    model::Mutex progress;
    int quiescent_points = 0;  // so far; kAsleep: always
    static constexpr int kAsleep = 90;

    Breakpoints() { tables[0].functions = kFirst != 0 ? kAll : kH; }
    unsigned threads() const override { return 2; }
    uint64_t digest() const override {
        return static_cast<uint64_t>(((last_table * 10 + commits) * 10 + switches) * 100 + quiescent_points);
    }
    int action(int change) const { return kActions[kChanges.first + change]; }

    // ---- the change

    void later(ChangeWait wait, void (*f)(void*), void* data) { later(number(wait), next, {f, data}); }
    void later(int wait, Work& room, Work work) {
        if (kLeftOut == wait) {
            work.f(work.data);
        } else {
            room = work;
        }
    }
    void publish(int functions) {
        tables[++last_table].functions = functions;
        tables[last_table].which = of_now;
        table.store(last_table, std::memory_order_release);
    }
    bool is_to_be(bool on, bool is) const { return is != on && on == (action(done + 1) != 0); }
    bool arm(bool on) {
        if (!is_to_be(on, any_armed)) {
            return false;
        }
        any_armed = on;
        for (Atomic<int>& instruction : armed) {
            instruction.store(on, std::memory_order_relaxed);
        }
        return true;
    }
    bool stage_entries(bool on) {
        if (!kEntries || !is_to_be(on, any_stub)) {
            return false;
        }
        any_stub = on;
        stub[(commits + 1) % 3] = on;
        return true;
    }
    void commit_entries() { code.store(++commits % 3, std::memory_order_relaxed); }
    void switch_halves() { active.store(++switches % 2, std::memory_order_release); }
    void finish() {
        if (action(done + 1) != 0) {
            for (auto& half : three[of_now].half) {
                half[1 - switches % 2] = static_cast<int>(half[switches % 2]);
            }
        } else {
            dead_table = last_table;
            dead = of_now;
            publish(kH);
            later(kOfFreed, freeing, {[](void* data) { static_cast<Breakpoints*>(data)->free(); }, this});
        }
        if (++done < kChanges.count) {
            change();
        }
    }
    void free() {
        tables[dead_table].functions = 0;
        three[dead].alive = 0;
    }
    void change() {
        const bool is_new = action(done) == 0;
        of_now = is_new && done != 0 ? 1 : of_now;
        for (auto& half : three[of_now].half) {
            half[1 - switches % 2] = action(done + 1);
            if (is_new) {
                half[switches % 2] = 0;
            }
        }
        if (is_new) {
            publish(kAll);
        }
        this->begin();
    }
    void run_changes() {
        change();
        while (next.f != nullptr || freeing.f != nullptr) {
            progress.lock();
            const int wanted = std::min(quiescent_points + 1, kAsleep);
            progress.unlock();
            model::wait_until(quiescent_points, wanted);
            progress.lock();
            progress.unlock();
            for (const Work& work : {std::exchange(freeing, {}), std::exchange(next, {})}) {
                if (work.f != nullptr) {
                    work.f(work.data);
                }
            }
        }
    }

    // ---- calls

    // The scheduler has acted as after some switch, not before that by which it has last acted.
    void observe(int acted, int& seen) {
        while (seen <= switches && action(seen) != acted) {
            ++seen;
        }
        model::require(seen <= switches, "one function acts as before a switch, another as after it");
    }
    Three& look_up(Function function) {
        const Table& t = tables[table.load(std::memory_order_acquire)];
        const int functions = t.functions;
        model::require(functions != 0, "a table is read that has been freed");
        model::require((functions >> function & 1) != 0, "a function is armed that is not in the table");
        return three[t.which];
    }
    int act(Function function) {
        const Three& found = look_up(function);
        model::require(found.alive == 1, "a breakpoint is used that has been freed");
        return found.half[function][active.load(std::memory_order_relaxed)];
    }
    void call(Function function, int& seen) {
        observe(armed[function].load(std::memory_order_relaxed) != 0 ? act(function) : 0, seen);
    }
    void pass(int points) {
        progress.lock();
        quiescent_points += points;
        progress.unlock();
    }
    void run_calls() {
        int seen = 0;
        for (int slice = 0; slice < kSlices; slice++) {
            if (kCalls == Calls::code) {
                call(f, seen);
                call(g, seen);
                call(f, seen);
            } else if (kCalls == Calls::others) {
                look_up(h);
            } else if (stub[code.load(std::memory_order_relaxed)] != 0) {
                act(e);
            }
            pass(1);
        }
        pass(kAsleep - kSlices);
    }
    void run(unsigned thread) override {
        if (thread == 0) {
            run_calls();
        } else {
            run_changes();
        }
    }
    void end() override { model::require(done == kChanges.count, "a change has not ended"); }
};

template <Changes kChanges, Calls kCalls, bool kEntries = true>
void check_right(int max_preemptions) {
    const model::Limits limits{.max_preemptions = max_preemptions};
    const model::Result result = model::explore(model::make<Breakpoints<kChanges, kCalls, kEntries>>, limits);
    CHECK(result.error == "");
    CHECK(result.complete);
    CHECK(result.states > 100);
}
template <Changes kChanges>
void check_right(int max_preemptions) {
    check_right<kChanges, Calls::code>(max_preemptions);
    check_right<kChanges, Calls::entry>(max_preemptions);
    check_right<kChanges, Calls::others>(max_preemptions);
    check_right<kChanges, Calls::code, false>(max_preemptions);
    check_right<kChanges, Calls::others, false>(max_preemptions);
}
template <Changes kChanges, Calls kCalls, int kLeftOut, bool kEntries = true>
std::string error_of() {
    const model::Limits limits{.max_preemptions = 4};
    return model::explore(model::make<Breakpoints<kChanges, kCalls, kEntries, kLeftOut>>, limits).error;
}
void finds(const std::string& error, const char* what) {
    INFO("wanted: " << what << "\n" << error);
    CHECK(error.find(what) == 0);
}

constexpr char kNotFound[] = "a function is armed that is not in the table";
constexpr char kNotAsOne[] = "one function acts as before a switch, another as after it";
constexpr char kTorn[] = "data ";

}  // namespace

TEST_CASE("model: breakpoints are set, changed and cleared as one, and none is used that is gone") {
    check_right<kSet>(3);
    check_right<kChange>(3);
    check_right<kClear>(3);
    check_right<kEach>(1);
}

// Run by hand: minivm_tests "[model]".
TEST_CASE("model: breakpoints, more schedules", "[.][model]") {
    check_right<kSet>(5);
    check_right<kChange>(5);
    check_right<kClear>(5);
    check_right<kEach>(2);
}

TEST_CASE("model: leaving out any one wait of the breakpoint sequence goes wrong") {
    finds(error_of<kSet, Calls::code, number(ChangeWait::before_arming)>(), kNotFound);
    finds(error_of<kSet, Calls::code, number(ChangeWait::before_switching)>(), kNotAsOne);
    finds(error_of<kSet, Calls::entry, number(ChangeWait::before_switching)>(), kTorn);
    finds(error_of<kChange, Calls::code, number(ChangeWait::before_disarming)>(), kTorn);  // a half
    finds(error_of<kClear, Calls::code, number(ChangeWait::before_disarming)>(), kNotAsOne);
    finds(error_of<kClear, Calls::entry, number(ChangeWait::before_withdrawing)>(), kTorn);  // its entry
    finds(error_of<kClear, Calls::entry, number(ChangeWait::before_removing)>(), kNotFound);
    finds(error_of<kClear, Calls::others, kOfFreed>(), kTorn);  // the table
}

TEST_CASE("model: breakpoints of code alone need each wait but that for entries") {
    finds(error_of<kSet, Calls::code, number(ChangeWait::before_arming), false>(), kNotFound);
    finds(error_of<kSet, Calls::code, number(ChangeWait::before_switching), false>(), kNotAsOne);
    finds(error_of<kChange, Calls::code, number(ChangeWait::before_disarming), false>(), kTorn);
    finds(error_of<kClear, Calls::code, number(ChangeWait::before_withdrawing), false>(), kNotFound);
    CHECK(error_of<kClear, Calls::code, number(ChangeWait::before_removing), false>() == "");
    finds(error_of<kClear, Calls::others, kOfFreed, false>(), kTorn);
}

}  // namespace minivm
