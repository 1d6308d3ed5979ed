// The protocol of thread progress (vm/progress/thread_progress_core.hpp), the code that the VM runs,
// on a model of weak memory in all schedules; then the same with each of its memory orders
// weakened, each store and barrier left out, each read-modify-write split. What no scenario notices
// is a failure: every order is the weakest that does.
#include "tests/support/model/atomics.hpp"
#include "tests/support/model/mutants.hpp"
#include "vm/progress/thread_progress_core.hpp"

#include <catch2/catch.hpp>

namespace minivm {
namespace {

namespace tp = thread_progress;
using model::Atomic;
using model::Data;

// Two pieces of machine code, and of which version a thread has fetched them.
struct Code {
    Atomic<int> newest[2]{Atomic<int>(0), Atomic<int>(0)};
    int fetched[3][2] = {};
};
Code* g_code = nullptr;

struct Policy : model::Atomics {
    static void instruction_barrier() {
        if (g_code != nullptr) {
            for (int i = 0; i < 2; i++) {
                g_code->fetched[model::current_thread()][i] =
                    g_code->newest[i].load(std::memory_order_relaxed);
            }
        }
    }
};
struct Participant : tp::Slot<Policy> {};

constexpr int kAlive = 1, kFreed = 2;

// Nodes of which one is shared; whoever replaces it frees the former one after progress.
template <uint64_t kSteps>
struct Nodes : model::World {
    tp::Core<Policy, Participant, 4, kSteps> core;
    Atomic<int> shared{0};
    Data<int> node[3]{Data<int>{kAlive, "node 0"}, Data<int>{kAlive, "node 1"},
                      Data<int>{kAlive, "node 2"}};
    int freed = 0;
    int turn = 0;  // of scenarios whose threads wait for each other

    void look() {
        // relaxed: what a reader may find is for thread progress alone to limit.
        const int i = shared.load(std::memory_order_relaxed);
        model::require(node[i] == kAlive, "a node is used that has been freed");
    }
    void unlink(int next) { shared.store(next, std::memory_order_relaxed); }
    static void free_first(void* data) {
        auto* self = static_cast<Nodes*>(data);
        self->node[0] = kFreed;
        self->freed++;
    }
    static void free_second(void* data) {
        auto* self = static_cast<Nodes*>(data);
        self->node[1] = kFreed;
        self->freed++;
    }
    static void count(void* data) { static_cast<Nodes*>(data)->freed++; }
    void replace_first(Participant* by) {
        unlink(1);
        core.later(by, free_first, this);
    }
    void require_run(int jobs) const { model::require(freed == jobs, "deferred work has not run"); }
    uint64_t digest() const override { return static_cast<uint64_t>(freed * 100 + turn); }
};

// A reader and a writer, both participants.
template <uint64_t kSteps>
struct ReaderAndWriter final : Nodes<kSteps> {
    Participant* reader = this->core.join();
    Participant* writer = this->core.join();
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        if (thread == 0) {
            this->core.wake(reader);
            this->look();
            this->core.quiescent(reader);
            this->look();
            this->core.sleep(reader);
        } else {
            this->core.wake(writer);
            this->replace_first(writer);
            this->core.quiescent(writer);
            this->core.sleep(writer);
        }
    }
    void end() override { this->require_run(1); }
};

// The same with somebody who takes no part: its work is in the common queue.
struct ReaderAndOutsider final : Nodes<2> {
    Participant* reader = core.join();
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        if (thread == 0) {
            core.wake(reader);
            look();
            core.quiescent(reader);
            look();
            core.sleep(reader);
        } else {
            unlink(1);
            core.later(free_first, this);
        }
    }
    void end() override { require_run(1); }
};

// Two that fall asleep with work of their own.
struct BothDefer final : Nodes<2> {
    Participant* t[2] = {core.join(), core.join()};
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        core.wake(t[thread]);
        look();
        if (thread == 0) {
            replace_first(t[0]);
        } else {
            core.later(t[1], count, this);
        }
        core.sleep(t[thread]);
    }
    void end() override { require_run(2); }
};

// A reader that joins while the writer is under way, and leaves.
struct JoinsLate final : Nodes<2> {
    Participant* writer = core.join();
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        if (thread == 0) {
            Participant* const me = core.join();
            core.wake(me);
            look();
            core.sleep(me);
            core.leave(me);
        } else {
            core.wake(writer);
            replace_first(writer);
            core.quiescent(writer);
            core.quiescent(writer);
            core.sleep(writer);
        }
    }
    void end() override { require_run(1); }
};

// All are awake from the start, and the writer goes on to the end.
struct BothAwake : Nodes<2> {
    Participant* reader = core.join();  // or null: it has left
    Participant* writer = core.join();
    BothAwake() {
        core.wake(reader);
        core.wake(writer);
    }
    virtual void read() = 0;
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        if (thread == 0) {
            read();
            return;
        }
        replace_first(writer);
        core.quiescent(writer);
        core.quiescent(writer);
    }
    void end() override {
        if (reader != nullptr) {
            core.sleep(reader);
        }
        core.sleep(writer);
        require_run(1);
    }
};

// So does the reader.
struct AllAwake final : BothAwake {
    void read() override {
        look();
        core.quiescent(reader);
        look();
    }
};

// The reader falls asleep and wakes while the writer waits.
struct SleepsAndWakes final : BothAwake {
    void read() override {
        look();
        core.sleep(reader);
        core.wake(reader);
        look();
        core.quiescent(reader);
    }
};

// The reader leaves, and its slot goes to somebody else.
struct SlotChangesHands final : BothAwake {
    unsigned threads() const override { return 3; }
    void read() override {
        look();
        core.sleep(reader);
        core.leave(reader);
        reader = nullptr;
    }
    void run(unsigned thread) override {
        if (thread == 2) {
            core.join();
            return;
        }
        BothAwake::run(thread);
    }
};

// A third one moves the epoch: what it has seen decides, and not what the writer has. The reader
// joins, wakes or goes on meanwhile; the third one goes on, or falls asleep.
enum class Reader { joins, wakes, goes_on };
template <Reader kReader, bool kThirdSleeps>
struct ThirdMovesEpoch final : Nodes<2> {
    Participant* writer = core.join();
    Participant* third = core.join();
    Participant* reader = kReader == Reader::joins ? nullptr : core.join();
    ThirdMovesEpoch() {
        core.wake(writer);
        core.wake(third);
        if (kReader == Reader::goes_on) {
            core.wake(reader);
        }
    }
    unsigned threads() const override { return 3; }
    void run(unsigned thread) override {
        if (thread == 0) {
            if (kReader == Reader::joins) {
                reader = core.join();
            }
            if (kReader == Reader::goes_on) {
                core.quiescent(reader);
            } else {
                core.wake(reader);
            }
            look();
        } else if (thread == 1) {
            replace_first(writer);
            core.quiescent(writer);
        } else {
            core.later(third, count, this);
            if (kThirdSleeps) {
                core.sleep(third);
            } else {
                core.quiescent(third);
                core.quiescent(third);
            }
        }
    }
    void end() override {
        core.sleep(reader);
        if (!kThirdSleeps) {
            core.sleep(third);
        }
        core.sleep(writer);
        require_run(2);
    }
};

// Nobody sleeps: what threads publish at quiescent points is enough.
struct NobodySleeps final : Nodes<2> {
    Participant* t[2] = {core.join(), core.join()};
    unsigned threads() const override { return 2; }
    void run(unsigned thread) override {
        const int me = static_cast<int>(thread);
        model::wait_until(turn, me);
        core.wake(t[me]);
        if (me == 0) {
            replace_first(t[0]);
        }
        ++turn;
        for (int round = 1; round <= 3; ++round) {
            model::wait_until(turn, 2 * round + me);
            core.quiescent(t[me]);
            ++turn;
        }
        model::wait_until(turn, 8);
        model::require(freed == 1, "deferred work has not run while all are awake");
    }
};

// From here on scenarios that some mutant needs: what would take more preemptions than are looked
// at is put in order by waits, which order nothing but the schedule.

// Two that fall asleep move the epoch on by a step each, while one joins and one unlinks. Neither
// has passed a barrier since the reader joined.
struct TwoFallAsleepReaderJoins final : Nodes<2> {
    Participant* writer = core.join();
    Participant* first = core.join();
    Participant* second = core.join();
    TwoFallAsleepReaderJoins() {
        core.wake(writer);
        core.wake(first);
        core.wake(second);
    }
    unsigned threads() const override { return 4; }
    void run(unsigned thread) override {
        if (thread == 0) {
            core.later(first, count, this);
            core.sleep(first);
            model::wait_until(turn, 2);
            ++turn;
        } else if (thread == 1) {
            Participant* const reader = core.join();
            core.wake(reader);
            ++turn;
            model::wait_until(turn, 6);
            look();
            core.sleep(reader);
        } else if (thread == 2) {
            model::wait_until(turn, 1);
            replace_first(writer);
            ++turn;
            model::wait_until(turn, 3);
            core.quiescent(writer);
            ++turn;
            model::wait_until(turn, 5);
            core.quiescent(writer);
            ++turn;
        } else {
            model::wait_until(turn, 4);
            core.sleep(second);
            ++turn;
        }
    }
    void end() override {
        core.sleep(writer);
        require_run(2);
    }
};

// The same with a reader that wakes, and the writer as well.
struct TwoFallAsleepReaderWakes final : Nodes<2> {
    Participant* reader = core.join();
    Participant* writer = core.join();
    Participant* first = core.join();
    Participant* second = core.join();
    TwoFallAsleepReaderWakes() {
        core.wake(first);
        core.wake(second);
    }
    unsigned threads() const override { return 4; }
    void run(unsigned thread) override {
        if (thread == 0) {
            core.later(first, count, this);
            core.sleep(first);
        } else if (thread == 1) {
            core.sleep(second);
            model::wait_until(turn, 2);
            ++turn;
        } else if (thread == 2) {
            core.wake(reader);
            ++turn;
            model::wait_until(turn, 4);
            look();
            core.sleep(reader);
        } else {
            model::wait_until(turn, 1);
            core.wake(writer);
            replace_first(writer);
            ++turn;
            model::wait_until(turn, 3);
            core.quiescent(writer);
            ++turn;
        }
    }
    void end() override {
        core.sleep(writer);
        require_run(2);
    }
};

// The reader wakes, and the epoch moves on, while an outsider is about to look at both.
struct WakesUnderALook final : Nodes<2> {
    Participant* reader = core.join();
    Participant* writer = core.join();
    WakesUnderALook() { core.wake(writer); }
    unsigned threads() const override { return 3; }
    void run(unsigned thread) override {
        if (thread == 0) {
            core.later(count, this);
            model::wait_until(turn, 2);
            ++turn;
        } else if (thread == 1) {
            core.wake(reader);
            ++turn;
            model::wait_until(turn, 4);
            look();
            core.sleep(reader);
        } else {
            model::wait_until(turn, 1);
            replace_first(writer);
            core.quiescent(writer);
            core.quiescent(writer);
            ++turn;
            model::wait_until(turn, 3);
            core.quiescent(writer);
            ++turn;
        }
    }
    void end() override {
        core.sleep(writer);
        require_run(2);
    }
};

// Tags ascend: the epoch never goes back.
struct EpochAscends final : Nodes<2> {
    unsigned threads() const override { return 2; }
    void run(unsigned) override {
        core.later(count, this);
        const uint64_t before = core.epoch();
        model::require(core.epoch() >= before, "the epoch has gone back");
    }
    void end() override { require_run(2); }
};

// The epoch moves on right after the writer has found that it does not.
struct MovesAfterAll final : Nodes<2> {
    Participant* reader = core.join();
    Participant* writer = core.join();
    Participant* third = core.join();
    MovesAfterAll() {
        core.wake(reader);
        core.wake(writer);
        core.wake(third);
    }
    unsigned threads() const override { return 3; }
    void run(unsigned thread) override {
        if (thread == 0) {
            replace_first(writer);
            core.quiescent(writer);
            ++turn;
            core.quiescent(writer);
        } else if (thread == 1) {
            look();
            model::wait_until(turn, 1);
            core.quiescent(reader);
            ++turn;
        } else {
            model::wait_until(turn, 2);
            core.later(third, count, this);
            core.sleep(third);
        }
    }
    void end() override {
        core.sleep(reader);
        core.sleep(writer);
        require_run(2);
    }
};

// Two that join get two slots; one that has left is taken again.
struct Slots final : Nodes<2> {
    unsigned threads() const override { return 1; }
    void run(unsigned) override {
        Participant* const a = core.join();
        Participant* const b = core.join();
        model::require(a != b, "two threads have one slot");
        core.leave(a);
        model::require(core.join() == a, "a slot is lost");
    }
};

// Machine code is changed by two, each making known that it is when every thread has passed a
// barrier.
struct CodeChanges final : model::World {
    Code code;
    tp::Core<Policy, Participant, 3> core;
    Atomic<bool> known[2]{Atomic<bool>(false), Atomic<bool>(false)};
    Participant* changer[2];
    Participant* runner;
    CodeChanges() {
        g_code = &code;
        changer[0] = core.join();
        changer[1] = core.join();
        runner = core.join();
        core.wake(changer[0]);
        core.wake(changer[1]);
        core.wake(runner);
    }
    ~CodeChanges() override { g_code = nullptr; }
    unsigned threads() const override { return 3; }
    void call() {
        for (int i = 0; i < 2; i++) {
            if (known[i].load(std::memory_order_relaxed)) {
                model::require(code.fetched[2][i] == 1,
                               "code is run that the processor has fetched before it was changed");
            }
        }
    }
    template <int kWhich>
    static void make_known(void* data) {
        static_cast<CodeChanges*>(data)->known[kWhich].store(true, std::memory_order_relaxed);
    }
    void run(unsigned thread) override {
        if (thread == 2) {
            core.quiescent(runner);
            call();
            core.quiescent(runner);
            call();
        } else {
            code.newest[thread].store(1, std::memory_order_relaxed);
            core.want_instruction_barrier();
            core.later(changer[thread], thread == 0 ? make_known<0> : make_known<1>, this);
            core.quiescent(changer[thread]);
            core.quiescent(changer[thread]);
        }
    }
    uint64_t digest() const override {
        return static_cast<uint64_t>(code.fetched[2][0] * 2 + code.fetched[2][1]);
    }
};

// One counts a change while another does, and a thread passes a barrier in between.
struct CodeChangesInTurn final : model::World {
    Code code;
    tp::Core<Policy, Participant, 3> core;
    Atomic<bool> known{false};
    Participant* changer[2] = {core.join(), core.join()};
    Participant* runner = core.join();
    int turn = 0;
    CodeChangesInTurn() {
        g_code = &code;
        core.wake(changer[0]);
        core.wake(changer[1]);
        core.wake(runner);
    }
    ~CodeChangesInTurn() override { g_code = nullptr; }
    unsigned threads() const override { return 3; }
    static void make_known(void* data) {
        static_cast<CodeChangesInTurn*>(data)->known.store(true, std::memory_order_relaxed);
    }
    void run(unsigned thread) override {
        if (thread == 0) {
            code.newest[0].store(1, std::memory_order_relaxed);
            core.want_instruction_barrier();
            model::wait_until(turn, 2);
            core.later(changer[0], make_known, this);
            core.quiescent(changer[0]);
            ++turn;
            model::wait_until(turn, 4);
            core.quiescent(changer[0]);
            ++turn;
        } else if (thread == 1) {
            code.newest[1].store(1, std::memory_order_relaxed);
            core.want_instruction_barrier();
            core.later(
                changer[1], [](void*) {}, this);
            core.quiescent(changer[1]);
            core.sleep(changer[1]);
            ++turn;
        } else {
            model::wait_until(turn, 1);
            core.quiescent(runner);
            ++turn;
            model::wait_until(turn, 3);
            core.quiescent(runner);
            ++turn;
            model::wait_until(turn, 5);
            if (known.load(std::memory_order_relaxed)) {
                model::require(code.fetched[2][0] == 1,
                               "code is run that the processor has fetched before it was changed");
            }
        }
    }
    uint64_t digest() const override {
        return static_cast<uint64_t>((turn * 2 + code.fetched[2][0]) * 2 + code.fetched[2][1]);
    }
};

const model::Scenario kScenarios[] = {
    {"slots", model::make<Slots>},
    {"nobody sleeps", model::make<NobodySleeps>, 0, true},
    {"all awake", model::make<AllAwake>},
    {"sleeps and wakes", model::make<SleepsAndWakes>},
    {"joins late", model::make<JoinsLate>},
    {"slot changes hands", model::make<SlotChangesHands>},
    {"reader and outsider", model::make<ReaderAndOutsider>},
    {"reader and writer", model::make<ReaderAndWriter<2>>},
    {"code changes", model::make<CodeChanges>},
    {"third falls asleep, reader joins", model::make<ThirdMovesEpoch<Reader::joins, true>>},
    {"third falls asleep, reader wakes", model::make<ThirdMovesEpoch<Reader::wakes, true>>},
    {"third goes on, reader wakes", model::make<ThirdMovesEpoch<Reader::wakes, false>>},
    {"third falls asleep, reader goes on", model::make<ThirdMovesEpoch<Reader::goes_on, true>>},
    {"third goes on, reader goes on", model::make<ThirdMovesEpoch<Reader::goes_on, false>>},
    {"both defer", model::make<BothDefer>},
    {"two fall asleep, reader joins", model::make<TwoFallAsleepReaderJoins>},
    {"two fall asleep, reader wakes", model::make<TwoFallAsleepReaderWakes>, 1},
    {"wakes under a look", model::make<WakesUnderALook>},
    {"epoch ascends", model::make<EpochAscends>},
    {"moves after all", model::make<MovesAfterAll>},
    {"code changes in turn", model::make<CodeChangesInTurn>},
};

void check_all(int more, uint64_t least_states) {
    uint64_t states = 0;
    for (const auto& scenario : kScenarios) {
        INFO(scenario.name);
        const model::Result result = model::explore(scenario.make, scenario.limits(more));
        CHECK(result.error == "");
        CHECK(result.complete);
        CHECK(result.unordered_stores == 0);
        states += result.states;
    }
    // So that an exploration that ends early is noticed.
    CHECK(states > least_states);
}

TEST_CASE("model: thread progress frees nothing under a reader and loses no work") {
    check_all(0, 200'000);
}

// Run by hand: minivm_tests "[model]".
TEST_CASE("model: thread progress with one preemption more", "[.][model]") {
    check_all(1, 1'000'000);
}

TEST_CASE("model: deferred work is due after two steps of the epoch, not after one") {
    CHECK(model::explore(model::make<ReaderAndWriter<1>>).error != "");
}

// The longest, and what it shows does not depend on how it is compiled: minutes under a sanitizer
// or an emulator.
#if !defined(__SANITIZE_ADDRESS__) && defined(__x86_64__)
TEST_CASE("model: each weaker thread progress is found") {
    const auto found = model::run_mutants(kScenarios, "thread_progress_core.hpp",
                                          [](const auto&) { return true; });
    CHECK(found.size() >= 34);
    for (const auto& [mutant, error] : found) {
        INFO(model::to_string(mutant));
        CHECK(error != "");
    }
}
#endif

}  // namespace
}  // namespace minivm
