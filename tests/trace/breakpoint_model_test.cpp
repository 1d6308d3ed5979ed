// A model of how breakpoints are set, changed and cleared, every interleaving of which is looked at
// (trace/breakpoint.cpp; docs/protocols/tracing.md, "The sequence").
//
// One thread changes, a scheduler calls. Its reads are weak: a word may be what it was at the
// scheduler's last full barrier, or anything written since; reads of one word never go back. Thread
// progress is taken for what tests/vm/code/protocol_model_test.cpp shows of it: it has passed when
// the scheduler has been at a quiescent point, which is such a barrier.
//
// A wait that follows nothing but steps with nothing to do is none: see the table of the document.
//
// Three functions: f and g have local breakpoints, e has one in its export entry, of which there
// are three generations. The change sets all of them, changes what they do, clears them, and sets
// them again. A fourth, h, is armed all the time: its calls look into the table that is replaced
// meanwhile.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_set>

namespace {

constexpr int kFunctions = 3;
constexpr int kEntry = 2;                                                  // e
constexpr int kBystander = 3;                                              // h
constexpr unsigned kLocals = 1, kByEntry = 2, kOthers = 4, kAllCalls = 7;  // which are called
constexpr int kWaits = 6;
// What functions do after so many switches: 0 nothing.
constexpr std::array<uint8_t, 5> kActions{0, 1, 2, 0, 3};
constexpr int kChanges = kActions.size() - 1;

// The shared words.
enum Word : uint8_t {
    kActive,                          // switches so far; the half is this mod 2
    kCode,                            // commits of code so far; the generation is this mod 3
    kHalf,                            // [function][half][word], two words each: an action
    kArmed = kHalf + kFunctions * 4,  // f and g: the instruction
    kTable = kArmed + 2,              // [function]: found
    kEntries = kTable + kFunctions,   // [generation]: the commit that it belongs to
    kVersion = kEntries + 3,          // of the table
    kWords
};
constexpr uint8_t half_word(int function, int half, int word) {
    return static_cast<uint8_t>(kHalf + function * 4 + half * 2 + word);
}

struct State {
    std::array<uint8_t, kWords> memory{};
    std::array<uint16_t, kWords> possible{};  // what the scheduler may find: a bit a value
    std::array<uint8_t, kFunctions> freed{};
    std::array<uint8_t, 16> stub{};  // by commit of code: whether e's entry leads to its stub
    uint8_t change = 0;              // finished ones
    uint8_t step = 0;                // of the one under way
    uint8_t tables_freed = 0;        // versions below
    uint8_t passed = 0;  // the scheduler has been at a quiescent point since the wait began
    // The scheduler.
    uint8_t pc = 0;  // 0: between two calls
    uint8_t callee = 0;
    uint8_t seen = 0;   // by which switch it has last acted
    uint8_t table = 0;  // version it looks into
};

class Model {
public:
    // kClears: the wait is left out only of changes that clear.
    enum When : uint8_t { kAlways, kClears };
    explicit Model(int left_out, unsigned calls = kAllCalls, bool entries = true,
                   When when = kAlways)
        : left_out_(left_out), calls_(calls), entries_(entries), when_(when) {}

    // Empty: every state is right. Else what went wrong, with the steps that lead there.
    std::string run() {
        State first;
        first.freed.fill(1);
        barrier(first);
        add(first, -1, "start");
        for (size_t at = 0; at < states_.size() && error_.empty(); ++at) {
            const State s = states_[at].state;
            from_ = static_cast<int64_t>(at);
            change(s);
            call(s);
        }
        return error_;
    }
    size_t states() const { return states_.size(); }

private:
    struct Step {
        State state;
        int64_t from;
        const char* what;
    };

    static void barrier(State& s) {
        for (int w = 0; w < kWords; ++w) {
            s.possible[w] = static_cast<uint16_t>(1u << s.memory[w]);
        }
    }
    static void write(State& s, int word, uint8_t value) {
        s.memory[word] = value;
        s.possible[word] |= static_cast<uint16_t>(1u << value);
    }
    void add(const State& s, int64_t from, const char* what) {
        std::string key(sizeof(State), '\0');
        std::memcpy(key.data(), &s, sizeof(State));
        if (seen_.insert(std::move(key)).second) {
            states_.push_back({s, from, what});
        }
    }
    void go(const State& s, const char* what) { add(s, from_, what); }
    void fail(const std::string& why) {
        if (!error_.empty()) {
            return;
        }
        std::string path;
        for (int64_t i = from_; i > 0; i = states_[static_cast<size_t>(i)].from) {
            path.insert(0, std::string("  ") + states_[static_cast<size_t>(i)].what + "\n");
        }
        error_ = why + " after\n" + path;
    }

    // ---- who changes; each step is one write, or a wait

    void wait(State s, int number, const char* what) {
        const bool waits = number != left_out_ ||
                           (when_ == kClears && kActions[s.change + 1u] != 0);
        if (waits && s.passed == 0) {
            return;
        }
        ++s.step;
        s.passed = 0;
        go(s, what);
    }
    void write_step(State s, int word, uint8_t value, const char* what) {
        write(s, word, value);
        ++s.step;
        s.passed = 0;
        go(s, what);
    }
    static void stage_entry(State& s, bool stub) {
        const auto next = static_cast<uint8_t>(s.memory[kCode] + 1);
        write(s, kEntries + next % 3, next);
        s.stub[next] = stub ? 1 : 0;
    }
    void change(State s) {
        if (s.change >= kChanges) {
            return;
        }
        const uint8_t wanted = kActions[s.change + 1u];
        const bool fresh = kActions[s.change] == 0;
        const bool clears = wanted == 0;
        const int other = 1 - s.memory[kActive] % 2;
        const auto skip = [&] {
            ++s.step;
            go(s, "change: nothing to do");
        };
        switch (s.step) {
            case 0:
            case 1:
            case 2:
            case 3:
            case 4:
            case 5:  // the staged halves, word by word
                if (fresh) {
                    s.freed[s.step / 2u] = 0;
                }
                write_step(s, half_word(s.step / 2, other, s.step % 2), wanted,
                           "change: stages a half");
                break;
            case 6:
            case 7:
            case 8:
                write_step(s, kTable + s.step - 6, 1, "change: publishes the table");
                break;
            case 9:
                fresh ? write_step(s, kVersion, static_cast<uint8_t>(s.memory[kVersion] + 1),
                                   "change: publishes the table as a whole")
                      : skip();
                break;
            case 10:
                wait(s, 1, "change: progress 1");
                break;
            case 11:
            case 12:
                s.tables_freed = s.memory[kVersion];
                fresh ? write_step(s, kArmed + s.step - 11, 1, "change: arms") : skip();
                break;
            case 13:
                if (fresh && entries_) {
                    stage_entry(s, true);
                    s.passed = 0;
                    ++s.step;
                    go(s, "change: stages the entry");
                } else {
                    skip();
                }
                break;
            case 14:
                fresh ? wait(s, 2, "change: progress 2") : skip();
                break;
            case 15:
                fresh && entries_ ? write_step(s, kCode, static_cast<uint8_t>(s.memory[kCode] + 1),
                                               "change: commits the entry")
                                  : skip();
                break;
            case 16:
                write_step(s, kActive, static_cast<uint8_t>(s.memory[kActive] + 1),
                           "change: switches the halves");
                break;
            case 17:
                wait(s, 3, "change: progress 3");
                break;
            case 18:
            case 19:
                clears ? write_step(s, kArmed + s.step - 18, 0, "change: disarms") : skip();
                break;
            case 20:
                if (clears && entries_) {
                    stage_entry(s, false);
                    s.passed = 0;
                    ++s.step;
                    go(s, "change: stages the entry without stub");
                } else {
                    skip();
                }
                break;
            case 21:
                clears ? wait(s, 4, "change: progress 4") : skip();
                break;
            case 22:
                clears && entries_ ? write_step(s, kCode, static_cast<uint8_t>(s.memory[kCode] + 1),
                                                "change: commits the entry without stub")
                                   : skip();
                break;
            case 23:
                clears && entries_ ? wait(s, 5, "change: progress 5") : skip();
                break;
            case 24:
            case 25:
            case 26:
            case 27:
            case 28:
            case 29:  // both halves alike
                write_step(s, half_word((s.step - 24) / 2, other, (s.step - 24) % 2), wanted,
                           "change: makes the halves alike");
                break;
            case 30:
            case 31:
            case 32:
                clears ? write_step(s, kTable + s.step - 30, 0, "change: takes out of the table")
                       : skip();
                break;
            case 33:
                clears ? write_step(s, kVersion, static_cast<uint8_t>(s.memory[kVersion] + 1),
                                    "change: publishes the table as a whole")
                       : skip();
                break;
            case 34:
                wait(s, 6, "change: progress 6");
                break;
            default:
                if (clears) {
                    s.freed.fill(1);
                }
                s.tables_freed = s.memory[kVersion];
                s.step = 0;
                ++s.change;
                go(s, "change: is done");
                break;
        }
    }

    // ---- the scheduler

    // Each value that a read may give.
    template <typename F>
    static void read(const State& s, int word, F with) {
        for (uint8_t value = 0; value < 16; ++value) {
            if ((s.possible[word] >> value & 1) != 0) {
                State t = s;
                // Later writes may still come, earlier ones do not come back; and what has been
                // found is what is there if nothing else has been written since.
                uint16_t later = t.possible[word];
                if (word == kActive || word == kCode || word == kVersion) {
                    later = static_cast<uint16_t>(later & ~((1u << value) - 1));
                } else if (value == s.memory[word]) {
                    later = static_cast<uint16_t>(1u << value);
                }
                t.possible[word] = later;
                with(t, value);
            }
        }
    }
    static bool surely(const State& s, int word, uint8_t value) {
        return s.possible[word] == static_cast<uint16_t>(1u << value);
    }

    // The scheduler has acted as after some switch: there has to be one, not before the last it
    // acted by.
    void observe(State s, uint8_t action, const char* what) {
        s.pc = 0;
        if (s.callee != kEntry) {
            uint8_t version = s.seen;
            while (version <= s.memory[kActive] && kActions[version] != action) {
                ++version;
            }
            if (version > s.memory[kActive]) {
                fail("one function acts as after switch " + std::to_string(s.seen) + " of " +
                     std::to_string(s.memory[kActive]) + ", another by action " +
                     std::to_string(action));
                return;
            }
            s.seen = version;
        }
        s.callee = 0;
        go(s, what);
    }

    void call(const State& s) {
        switch (s.pc) {
            case 0: {
                State q = s;
                barrier(q);
                q.passed = 1;
                go(q, "scheduler: quiescent");
                for (uint8_t callee = 0; callee < kEntry && (calls_ & kLocals) != 0; ++callee) {
                    read(s, kArmed + callee, [&](State t, uint8_t armed) {
                        t.callee = callee;
                        if (armed == 0) {
                            observe(t, 0,
                                    callee == 0 ? "scheduler: calls f, which is not armed"
                                                : "scheduler: calls g, which is not armed");
                            return;
                        }
                        t.pc = 1;
                        go(t, callee == 0 ? "scheduler: calls f, which is armed"
                                          : "scheduler: calls g, which is armed");
                    });
                }
                if ((calls_ & kOthers) != 0) {
                    read(s, kVersion, [&](State t, uint8_t version) {
                        t.table = version;
                        t.callee = kBystander;
                        t.pc = 1;
                        go(t, "scheduler: calls h, takes the table");
                    });
                }
                if ((calls_ & kByEntry) == 0) {
                    break;
                }
                read(s, kCode, [&](State t, uint8_t code) {
                    if (!surely(t, kEntries + code % 3, code) && code != 0) {
                        fail("a reader of commit " + std::to_string(code) +
                             " may find the entry of another");
                        return;
                    }
                    t.callee = kEntry;
                    if (t.stub[code] == 0) {
                        observe(t, 0, "scheduler: calls e by its entry");
                        return;
                    }
                    t.pc = 1;
                    go(t, "scheduler: calls e by its stub");
                });
                break;
            }
            case 1: {  // looks for the breakpoint
                if (s.callee == kBystander) {
                    if (s.table < s.tables_freed) {
                        fail("a table is read that has been freed");
                        return;
                    }
                    State t = s;
                    t.pc = t.callee = t.table = 0;
                    go(t, "scheduler: has looked into the table");
                    break;
                }
                if (!surely(s, kTable + s.callee, 1)) {
                    fail("a function is armed that may not be in the table");
                    return;
                }
                State t = s;
                t.pc = 2;
                go(t, "scheduler: finds the breakpoint");
                break;
            }
            default:  // acts by it
                if (s.freed[s.callee] != 0) {
                    fail("a breakpoint is used that has been freed");
                    return;
                }
                read(s, kActive, [&](State t, uint8_t active) {
                    const uint16_t a = t.possible[half_word(t.callee, active % 2, 0)];
                    const uint16_t b = t.possible[half_word(t.callee, active % 2, 1)];
                    if (a != b || (a & (a - 1)) != 0) {
                        fail("a half is read that is being written");
                        return;
                    }
                    uint8_t action = 0;
                    while ((a >> action & 1) == 0) {
                        ++action;
                    }
                    observe(t, action, "scheduler: acts");
                });
                break;
        }
    }

    const int left_out_;
    const unsigned calls_;
    const bool entries_;  // the change is also one of the entry
    const When when_;
    int64_t from_ = 0;
    std::deque<Step> states_;
    std::unordered_set<std::string> seen_;
    std::string error_;
};

}  // namespace

TEST_CASE("model: breakpoints are set, changed and cleared as one, and none is used that is gone") {
    Model model(0);
    CHECK(model.run() == "");
    CHECK(model.states() > 1000);
}

TEST_CASE("model: leaving out any one wait of the breakpoint sequence goes wrong") {
    constexpr struct {
        unsigned calls;
        const char* reason;
    } kReasons[kWaits] = {
        {kLocals, "may not be in the table"},     // an armed function is not found
        {kLocals, "one function acts as after"},  // switched before all are armed
        {kLocals, "a half is read that is being written"},  // by one that acts by the former half
        {kByEntry, "may find the entry of another"},  // committed before everybody sees it
        {kByEntry, "may not be in the table"},        // taken out under one by the former entry
        {kOthers, "a table is read that has been freed"},  // others still look into it
    };
    for (int wait = 1; wait <= kWaits; ++wait) {
        const auto& [calls, reason] = kReasons[wait - 1];
        INFO("wait " << wait);
        const std::string error = Model(wait, calls).run();
        INFO(error);
        CHECK(error.find(reason) != std::string::npos);
        CHECK(Model(0, calls).run() == "");
    }
}

TEST_CASE("model: a function is not disarmed under one that acts by the former half") {
    const std::string error = Model(3, kLocals, true, Model::kClears).run();
    INFO(error);
    CHECK(error.find("one function acts as after") != std::string::npos);
}

TEST_CASE("model: changes of code alone go without the wait for entries, and without no other") {
    constexpr unsigned kCalls = kLocals | kOthers;
    CHECK(Model(0, kCalls, false).run() == "");
    CHECK(Model(5, kCalls, false).run() == "");  // which is none
    constexpr struct {
        int wait;
        unsigned calls;
        const char* reason;
    } kReasons[] = {
        {1, kLocals, "may not be in the table"},
        {2, kLocals, "one function acts as after"},
        {3, kLocals, "a half is read that is being written"},
        {4, kLocals, "may not be in the table"},
        {6, kOthers, "a table is read that has been freed"},
    };
    for (const auto& [wait, calls, reason] : kReasons) {
        INFO("wait " << wait);
        const std::string error = Model(wait, calls, false).run();
        INFO(error);
        CHECK(error.find(reason) != std::string::npos);
    }
}
