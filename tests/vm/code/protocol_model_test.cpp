// A model of thread progress and of staging in rotating generations, every interleaving of which is
// looked at (vm/sched/thread_progress.cpp, vm/code/code_tables.cpp; docs/protocols/code_loading.md).
//
// Memory is weak in the way that matters here. A plain or relaxed read by a reader returns what the word
// held at the reader's last full barrier, or anything written since: whichever is worse. The accesses of
// thread progress itself are sequentially consistent, so they are steps of one order.
//
// A generation of the tables is two words (two modules of one commit), written one after the other; both
// hold the number of the commit that they belong to. A reader takes the active index, and later reads
// the two words through it: each must be what that commit has made of it.
#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <unordered_set>
#include <vector>

#include <catch2/catch.hpp>

namespace {

constexpr int kMaxReaders = 2;
constexpr int kMaxGenerations = 3;
constexpr int kWords = 2;
constexpr uint8_t kAsleep = 255;

struct Rules {
    int readers = 2;
    int generations = 3;
    int distance = 2;            // deferred work runs when the epoch has grown by so much
    bool wait_for_progress = true;
    bool barrier_at_quiescence = true;
    bool barrier_at_wake = true;
    int commits = 4;
};

// What a reader may find in a word: values seen at its last barrier or written since, as a bit set.
using Possible = uint8_t;

struct State {
    // -- shared
    uint8_t epoch = 1;
    uint8_t active = 0;                                   // commits so far; the index is this mod generations
    std::array<std::array<uint8_t, kWords>, kMaxGenerations> table{};
    std::array<uint8_t, kMaxReaders> published{};
    // -- the loader: step 0..1 stages the words, 2 asks for progress, 3 waits and commits
    uint8_t loader_step = 0;
    uint8_t loader_tag = 0;
    // -- who moves the epoch: compares one thread after the other
    uint8_t advance_epoch = 0;                            // 0: idle
    uint8_t advance_next = 0;
    // -- readers
    struct Reader {
        uint8_t pc = 0;
        uint8_t epoch = 0;                                // read at Q1 or before W1
        uint8_t index = 0;                                // commit number it goes by
        Possible active = 1;
        std::array<std::array<Possible, kWords>, kMaxGenerations> table{};
    };
    std::array<Reader, kMaxReaders> reader{};
};

// A reader's steps: asleep, waking, in a slice, publishing.
enum Pc : uint8_t { kSleeps, kWakeStore, kWakeBarrier, kTakeIndex, kInSlice, kPublish, kBarrier };

class Model {
  public:
    explicit Model(const Rules& rules) : rules_(rules) {}

    // Empty: every state is right. Else what went wrong, with the steps that lead there.
    std::string run() {
        State first;
        for (auto& r : first.reader) {
            full_barrier(first, r);
        }
        first.published.fill(kAsleep);
        add(first, -1, "start");
        for (size_t at = 0; at < states_.size() && error_.empty(); ++at) {
            expand(at);
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

    void full_barrier(const State& s, State::Reader& r) {
        r.active = static_cast<Possible>(1u << s.active);
        for (int g = 0; g < kMaxGenerations; ++g) {
            for (int w = 0; w < kWords; ++w) {
                r.table[g][w] = static_cast<Possible>(1u << s.table[g][w]);
            }
        }
    }
    void write_table(State& s, int g, int w, uint8_t value) {
        s.table[g][w] = value;
        for (auto& r : s.reader) {
            r.table[g][w] |= static_cast<Possible>(1u << value);
        }
    }

    // What no longer matters is made equal, so that states are met again.
    void canonicalize(State& s) {
        uint8_t least = s.epoch;
        const auto use = [&least](uint8_t e) { least = e < least ? e : least; };
        if (s.loader_step > kWords) {
            use(s.loader_tag);
        } else {
            s.loader_tag = 0;
        }
        if (s.advance_epoch != 0) {
            use(s.advance_epoch);
        }
        for (int i = 0; i < rules_.readers; ++i) {
            auto& r = s.reader[static_cast<size_t>(i)];
            if (r.pc == kWakeStore || r.pc == kPublish) {
                use(r.epoch);
            } else {
                r.epoch = 0;
            }
            if (s.published[static_cast<size_t>(i)] != kAsleep) {
                use(s.published[static_cast<size_t>(i)]);
            }
            if (r.pc != kInSlice) {
                r.index = 0;
            }
            if (r.pc <= kWakeBarrier && rules_.barrier_at_wake) {
                r.active = 0;
                r.table = {};
            }
        }
        // Only differences of epochs count; 0 stands for none.
        const uint8_t shift = static_cast<uint8_t>(least - 1);
        const auto move = [shift](uint8_t& e) {
            if (e != 0 && e != kAsleep) {
                e = static_cast<uint8_t>(e - shift);
            }
        };
        move(s.epoch);
        move(s.loader_tag);
        move(s.advance_epoch);
        for (int i = 0; i < rules_.readers; ++i) {
            move(s.published[static_cast<size_t>(i)]);
            move(s.reader[static_cast<size_t>(i)].epoch);
        }
    }

    void add(State s, int64_t from, const char* what) {
        canonicalize(s);
        std::string key(sizeof(State), '\0');
        std::memcpy(key.data(), &s, sizeof(State));
        if (seen_.insert(std::move(key)).second) {
            states_.push_back({s, from, what});
        }
    }

    void fail(const std::string& why, int64_t at) {
        if (!error_.empty()) {
            return;
        }
        std::string path;
        for (int64_t i = at; i > 0; i = states_[static_cast<size_t>(i)].from) {
            path.insert(0, std::string("  ") + states_[static_cast<size_t>(i)].what + "\n");
        }
        error_ = why + " after\n" + path;
    }

    void expand(size_t at) {
        const State s = states_[at].state;
        const auto from = static_cast<int64_t>(at);
        loader(s, from);
        advance(s, from);
        for (int i = 0; i < rules_.readers; ++i) {
            reader(s, i, from);
        }
    }

    void loader(State s, int64_t from) {
        if (s.active >= rules_.commits) {
            return;
        }
        const uint8_t next = static_cast<uint8_t>(s.active + 1);
        const int g = next % rules_.generations;
        if (s.loader_step < kWords) {
            write_table(s, g, s.loader_step, next);
            ++s.loader_step;
            add(s, from, "loader: stages a word");
        } else if (s.loader_step == kWords) {
            s.loader_tag = s.epoch;  // L1 is a full barrier: what was staged is written
            ++s.loader_step;
            add(s, from, "loader: asks for progress");
        } else if (!rules_.wait_for_progress || s.epoch >= s.loader_tag + rules_.distance) {
            s.active = next;
            for (auto& r : s.reader) {
                r.active |= static_cast<Possible>(1u << next);
            }
            s.loader_step = 0;
            add(s, from, "loader: commits");
        }
    }

    void advance(State s, int64_t from) {
        if (s.advance_epoch == 0) {
            // Only somebody who waits moves it, and not for ever.
            if (s.loader_step <= kWords || s.epoch >= s.loader_tag + rules_.distance) {
                return;
            }
            s.advance_epoch = s.epoch;
            s.advance_next = 0;
            add(s, from, "advance: A1");
            return;
        }
        if (s.advance_next < rules_.readers) {
            const uint8_t p = s.published[s.advance_next];
            if (p == s.advance_epoch || p == kAsleep) {
                ++s.advance_next;
                add(s, from, "advance: A2");
            } else {
                s.advance_epoch = 0;
                s.advance_next = 0;
                add(s, from, "advance: gives up");
            }
            return;
        }
        if (s.epoch == s.advance_epoch) {
            ++s.epoch;
        }
        s.advance_epoch = 0;
        s.advance_next = 0;
        add(s, from, "advance: A3");
    }

    void check_word(const State& s, int64_t from, const State::Reader& r, int w) {
        const Possible found = r.table[r.index % rules_.generations][w];
        if (found != static_cast<Possible>(1u << r.index)) {
            fail("a reader that goes by commit " + std::to_string(r.index) + " of " +
                     std::to_string(s.active) + " may find something else",
                 from);
        }
    }

    void reader(const State& s0, int i, int64_t from) {
        State s = s0;
        auto& r = s.reader[static_cast<size_t>(i)];
        auto& published = s.published[static_cast<size_t>(i)];
        switch (r.pc) {
        case kSleeps:
            r.epoch = s.epoch;
            r.pc = kWakeStore;
            add(s, from, "reader: wakes, reads the epoch");
            break;
        case kWakeStore:
            published = r.epoch;
            r.pc = kWakeBarrier;
            add(s, from, "reader: W1");
            break;
        case kWakeBarrier:
            if (rules_.barrier_at_wake) {
                full_barrier(s, r);
            }
            r.pc = kTakeIndex;
            add(s, from, "reader: W2");
            break;
        case kTakeIndex:
            for (uint8_t c = 0; c <= rules_.commits; ++c) {
                if ((r.active >> c & 1) != 0) {
                    State t = s;
                    auto& tr = t.reader[static_cast<size_t>(i)];
                    tr.index = c;
                    tr.pc = kInSlice;
                    // Reads of one word never go back.
                    tr.active = static_cast<Possible>(tr.active & ~((1u << c) - 1));
                    add(t, from, "reader: takes the index");
                }
            }
            break;
        case kInSlice: {
            // It may read at any moment.
            check_word(s, from, r, 0);
            check_word(s, from, r, 1);
            State asleep = s;
            asleep.published[static_cast<size_t>(i)] = kAsleep;
            asleep.reader[static_cast<size_t>(i)].pc = kSleeps;
            add(asleep, from, "reader: sleeps");
            State again = s;
            again.reader[static_cast<size_t>(i)].pc = kTakeIndex;
            add(again, from, "reader: next slice");
            r.epoch = s.epoch;
            r.pc = r.epoch == published ? kTakeIndex : kPublish;
            add(s, from, "reader: Q1");
            break;
        }
        case kPublish:
            published = r.epoch;
            r.pc = kBarrier;
            add(s, from, "reader: Q2");
            break;
        case kBarrier:
            if (rules_.barrier_at_quiescence) {
                full_barrier(s, r);
            }
            r.pc = kTakeIndex;
            add(s, from, "reader: Q3");
            break;
        }
    }

    const Rules rules_;
    std::deque<Step> states_;
    std::unordered_set<std::string> seen_;
    std::string error_;
};

}  // namespace

TEST_CASE("model: three generations and thread progress never show a reader an incomplete table") {
    // One reader through enough commits that a generation is used for the third time; two of them as
    // far as a second use.
    Rules one;
    one.readers = 1;
    one.commits = 6;
    Model long_one(one);
    CHECK(long_one.run() == "");
    CHECK(long_one.states() > 3000);
    Rules two;
    two.commits = 3;
    Model short_two(two);
    CHECK(short_two.run() == "");
    CHECK(short_two.states() > 50000);
}

TEST_CASE("model: two generations let a reader of the last commit see the next one being staged") {
    Rules rules;
    rules.generations = 2;
    CHECK(Model(rules).run().find("may find something else") != std::string::npos);
}

TEST_CASE("model: without waiting for progress a reader sees the index before the table") {
    Rules rules;
    rules.wait_for_progress = false;
    CHECK_FALSE(Model(rules).run().empty());
}

TEST_CASE("model: one step of the epoch is not enough") {
    Rules rules;
    rules.distance = 1;
    CHECK_FALSE(Model(rules).run().empty());
}

TEST_CASE("model: readers need the barrier where they publish, and where they wake") {
    Rules rules;
    rules.barrier_at_quiescence = false;
    CHECK_FALSE(Model(rules).run().empty());
    rules.barrier_at_quiescence = true;
    rules.barrier_at_wake = false;
    CHECK_FALSE(Model(rules).run().empty());
}
