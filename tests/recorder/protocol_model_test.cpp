// The write and read protocol of recorder/protocol.hpp, checked on a model of weak memory.
//
// The model is that of tests/support/model/weak_memory.hpp.
//
// What makes it exhaustive and cheap: readers never store. So the writers can run first, and
// whatever an interleaved reader could have seen is among what a reader may load afterwards. Any
// number of readers follows from one, for the same reason. A signal handler runs on the writer's
// thread, so its stores have the same view; it is started between any two accesses of the outer
// write, and a second one inside the first. Death at a step is a prefix of the accesses, and who
// reads then sees the newest values.
//
// The ring has four slots and records take one to three, so that records are overwritten in part
// and in full. Then the same runs with mutants of the protocol; each must be caught, or the check
// checks nothing.
#include "recorder/protocol.hpp"
#include "tests/support/model/weak_memory.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

using namespace minivm::recorder;
namespace model = minivm::model;

namespace {

constexpr uint64_t kRingSlots = 4;
constexpr unsigned kLocations = 32;
static_assert(kLocations <= model::kMaxWords);

// What is left out of the protocol.
enum class Mutant {
    none,
    plain_add,        // load, add, store instead of one instruction
    no_busy_mark,     // word 0 is not marked before the payload
    no_second_read,   // the reader believes its first look at reserve and word 0
    no_reserve_look,  // the reader looks at word 0 again, but not at reserve
    relaxed_commit,   // commit without release
    relaxed_head,     // first look at word 0 without acquire
    no_write_fence,   // payload not kept behind the busy mark and the reservation
    no_read_fence,    // second look not kept behind the copy
    no_lap_check,     // nested writes go on beyond the open record
    stale_open,       // the open position is set after the reservation only
    early_commit,     // committed before the payload is there
    no_nested_fence,  // a handler marks its slots before the reservation it interrupted is
                      // published
    count,
};
const char* name_of(Mutant mutant) {
    static const char* const names[] = {
        "none",           "plain_add",    "no_busy_mark",   "no_second_read", "no_reserve_look",
        "relaxed_commit", "relaxed_head", "no_write_fence", "no_read_fence",  "no_lap_check",
        "stale_open",     "early_commit", "no_nested_fence"};
    return names[static_cast<unsigned>(mutant)];
}

struct Killed {};

// The memory and the one thread that is running in it. Words are indices into `history`.
struct Model {
    Mutant mutant = Mutant::none;
    model::Memory memory;
    model::ThreadView* thread = nullptr;
    bool writing = true;
    uint64_t steps = 0;
    uint64_t kill_at = UINT64_MAX;  // the writer dies in front of this access
    void (*at_step)(Model&) = nullptr;

    model::Choices choices;    // of the reader
    bool newest_only = false;  // a reader after the writer's death

    // For mutants of the reader.
    std::map<unsigned, uint64_t> first_look;
    bool fence_passed = false;
    unsigned last_add = 0;  // word of the latest addition

    unsigned choose(unsigned limit) { return newest_only ? limit - 1 : choices.choose(limit); }
    void step() {
        if (!writing) {
            return;
        }
        if (steps == kill_at) {
            throw Killed();
        }
        if (at_step != nullptr) {
            at_step(*this);
        }
        if (steps == kill_at) {
            throw Killed();
        }
        steps++;
    }
};
Model* g_model = nullptr;

struct ModelAtomics {
    struct Word {
        unsigned index = 0;
    };

    static uint64_t load(const Word& word, std::memory_order order) {
        Model& m = *g_model;
        m.step();
        const unsigned newest = m.memory.newest(word.index);
        unsigned at = newest;
        if (!m.writing) {
            const bool is_head_or_reserve = word.index == 0 || first_of_slot(word.index);
            if (m.fence_passed && is_head_or_reserve) {
                const bool skip = m.mutant == Mutant::no_second_read ||
                                  (m.mutant == Mutant::no_reserve_look && word.index == 0);
                if (skip) {
                    return m.first_look[word.index];
                }
            }
            const unsigned oldest = m.memory.oldest(*m.thread, word.index, order);
            at = oldest + m.choose(newest - oldest + 1);
        }
        const uint64_t found = m.memory.word(word.index)[at].value;
        if (m.mutant == Mutant::no_lap_check && word.index == kOpenIndex && found != 0) {
            return found + 1000;
        }
        const bool weak = m.mutant == Mutant::relaxed_head;
        m.memory.load(*m.thread, word.index, at, weak ? std::memory_order_relaxed : order);
        if (!m.writing) {
            m.first_look.emplace(word.index, found);
        }
        return found;
    }

    static void store(Word& word, uint64_t value, std::memory_order order) {
        Model& m = *g_model;
        const bool is_head = word.index >= kFirstSlotWord;
        if (is_head && m.mutant == Mutant::no_busy_mark && word0_is_busy(value)) {
            return;
        }
        if (is_head && m.mutant == Mutant::early_commit && word0_is_busy(value)) {
            value = (value & ~kBusy) | kCommitted;
        }
        if (word.index == kOpenIndex && value != 0 && m.mutant == Mutant::stale_open) {
            return;  // see add()
        }
        m.step();
        append(word.index, value,
               m.mutant == Mutant::relaxed_commit ? std::memory_order_relaxed : order);
    }
    static void store_payload(Word& word, uint64_t value) {
        g_model->step();
        append(word.index, value, std::memory_order_relaxed);
    }
    static uint64_t load_payload(const Word& word) {
        return load(word, std::memory_order_relaxed);  // relaxed: a model's load
    }
    static uint64_t add(Word& word, uint64_t n) {
        Model& m = *g_model;
        m.step();
        const uint64_t old = m.memory.word(word.index).back().value;
        if (m.mutant == Mutant::plain_add) {
            m.step();  // a signal may come here
        }
        append(word.index, old + n, std::memory_order_relaxed);
        m.last_add = word.index;
        if (m.mutant == Mutant::stale_open && word.index == kReserveIndex) {
            m.step();
            append(kOpenIndex, old + 1, std::memory_order_relaxed);
        }
        return old;
    }
    static void count(Word& word) { add(word, 1); }

    static void fence(std::memory_order order) {
        Model& m = *g_model;
        const bool skipped = m.mutant == Mutant::no_write_fence ||
                             (m.mutant == Mutant::no_nested_fence && m.last_add == kReserveIndex);
        if (model::releases(order) && !skipped) {
            m.memory.fence(*m.thread, order);
        }
        if (model::acquires(order)) {
            m.fence_passed = true;
            if (m.mutant != Mutant::no_read_fence) {
                m.memory.fence(*m.thread, order);
            }
        }
    }
    static void signal_fence() {}

    static constexpr unsigned kReserveIndex = 0;
    static constexpr unsigned kOpenIndex = 1;
    static constexpr unsigned kFirstSlotWord = 12;
    static bool first_of_slot(unsigned index) {
        return index >= kFirstSlotWord && (index - kFirstSlotWord) % 2 == 0;
    }

private:
    static void append(unsigned index, uint64_t value, std::memory_order order) {
        g_model->memory.store(*g_model->thread, index, value, order);
    }
};

// Four slots. The protocol addresses four words a slot; the model keeps two of them, the head and
// one of payload, which is what tearing needs.
struct ModelRing {
    // Twice the slots and one record more, as the real mapping repeats the first page.
    std::array<ModelAtomics::Word, (kRingSlots + kMaxSlots) * kWordsPerSlot> words;
    std::array<ModelAtomics::Word, 4> blocks;
    RingControl<ModelAtomics> control;
    RingView<ModelAtomics> view;

    ModelRing() {
        control.reserve.index = 0;
        control.open.index = 1;
        control.depth.index = 2;
        control.records.index = 3;
        control.dropped_nesting.index = 4;
        control.dropped_lap.index = 5;
        control.abandoned_records.index = 6;
        control.abandoned_slots.index = 7;
        control.dropped_busy.index = 8;
        for (auto& block : blocks) {
            block.index = 9;
        }
        for (unsigned i = 0; i < words.size(); i++) {
            const unsigned slot = (i / kWordsPerSlot) % kRingSlots;
            words[i].index =
                ModelAtomics::kFirstSlotWord + slot * 2 + (i % kWordsPerSlot == 0 ? 0 : 1);
        }
        view.words = words.data();
        view.blocks = blocks.data();
        view.control = &control;
        view.size_slots = kRingSlots;
    }
};

// Marks of a record that its payload words carry: its serial number and which slot they are in.
uint64_t payload_word(uint64_t serial, unsigned slot) {
    return 0x1000 * (serial + 1) + slot;
}

struct Written {
    uint64_t position;
    unsigned slots;
    WriteResult result;
    bool got_position;  // its slots are marked busy
    bool ended;         // the call has returned
};

struct Plan {
    std::vector<unsigned> outer;      // slots of each record of the thread
    std::vector<unsigned> first;      // records of the first handler
    std::vector<unsigned> second;     // records of a handler inside the first
    uint64_t first_at = UINT64_MAX;   // access in front of which the first handler runs
    uint64_t second_at = UINT64_MAX;  // and the second
    uint64_t kill_at = UINT64_MAX;
};

struct Run {
    ModelRing ring;
    Model model;
    model::ThreadView writer;
    std::vector<Written> written;
    const Plan* plan = nullptr;
    int handlers_begun = 0;
    bool was_killed = false;

    void write(unsigned slots) {
        const size_t serial = written.size();
        written.push_back({0, slots, WriteResult::dropped_nesting, false, false});
        const auto result = write_record<ModelAtomics>(
            ring.view, slots, 0, [this, serial, slots](auto put, uint64_t at) {
                written[serial].position = at;
                written[serial].got_position = true;
                for (unsigned i = 0; i < slots; i++) {
                    // One payload word a slot; word 0 of the further slots is payload as well.
                    if (i > 0) {
                        put(i * kWordsPerSlot, payload_word(serial, i) + 0x800);
                    }
                    put(i * kWordsPerSlot + 1, payload_word(serial, i));
                }
            });
        written[serial].result = result;
        written[serial].ended = true;
    }
    void handle() {
        if (handlers_begun == 0 && model.steps == plan->first_at) {
            handlers_begun = 1;
            for (const unsigned slots : plan->first) {
                write(slots);
            }
        } else if (handlers_begun == 1 && model.steps == plan->second_at) {
            handlers_begun = 2;
            for (const unsigned slots : plan->second) {
                write(slots);
            }
        }
    }
    void execute(const Plan& a_plan, Mutant mutant) {
        plan = &a_plan;
        model.mutant = mutant;
        model.memory.reset();
        for (unsigned i = 0; i < kLocations; i++) {
            model.memory.add_word(0);
        }
        model.thread = &writer;
        model.kill_at = a_plan.kill_at;
        g_model = &model;
        g_run = this;
        model.at_step = [](Model&) { g_run->handle(); };
        try {
            for (const unsigned slots : a_plan.outer) {
                write(slots);
            }
        } catch (const Killed&) {
            was_killed = true;
        }
        model.writing = false;
    }
    uint64_t final_value(unsigned index) const { return model.memory.word(index).back().value; }

    static Run* g_run;
};
Run* Run::g_run = nullptr;

struct Violation {
    std::string what;
};

void require(bool condition, const char* what) {
    if (!condition) {
        throw Violation{what};
    }
}

uint64_t g_reads = 0;

// One reader that reads what starts at `position`, in every way the model allows.
void read_in_all_ways(Run& run, uint64_t position, bool newest_only) {
    Model& m = run.model;
    m.newest_only = newest_only;
    m.choices.clear();
    do {
        model::ThreadView reader;
        m.thread = &reader;
        m.fence_passed = false;
        m.first_look.clear();
        uint64_t buffer[kMaxRecordWords] = {};
        const ReadOutcome outcome = read_record<ModelAtomics>(run.ring.view, position, buffer);
        g_reads++;
        const Written* record = nullptr;
        size_t serial = 0;
        for (size_t i = 0; i < run.written.size(); i++) {
            if (run.written[i].got_position && run.written[i].position == position) {
                require(record == nullptr, "two records at one position");
                record = &run.written[i];
                serial = i;
            }
        }
        const uint64_t reserve = run.final_value(ModelAtomics::kReserveIndex);
        const bool lapped = reserve > position + kRingSlots;
        if (outcome.result == ReadResult::committed) {
            require(record != nullptr, "a record was invented");
            require(outcome.slots == record->slots, "a record has the wrong length");
            for (unsigned i = 0; i < record->slots; i++) {
                require(buffer[i * kWordsPerSlot + 1] == payload_word(serial, i),
                        "a record is torn");
                require(i == 0 || buffer[i * kWordsPerSlot] == payload_word(serial, i) + 0x800,
                        "a record is torn");
            }
        }
        if (newest_only && record != nullptr && !lapped) {
            const bool finished = record->result == WriteResult::written;
            if (finished) {
                require(outcome.result == ReadResult::committed, "a finished record is not found");
            } else if (outcome.result != ReadResult::committed) {
                require(outcome.result == ReadResult::in_progress && outcome.slots == record->slots,
                        "an unfinished record is not recognised");
            }
        }
    } while (m.choices.advance());
}

// Runs a plan and reads every position; throws Violation.
void check(const Plan& plan, Mutant mutant) {
    Run run;
    run.execute(plan, mutant);
    const uint64_t reserve = run.final_value(ModelAtomics::kReserveIndex);
    // Reservations are disjoint and add up.
    uint64_t slots = 0;
    uint64_t unmarked_slots = 0;
    uint64_t written = 0;
    for (const Written& w : run.written) {
        slots += w.got_position ? w.slots : 0;
        unmarked_slots += w.got_position || w.ended ? 0 : w.slots;
        written += w.result == WriteResult::written ? 1 : 0;
    }
    if (!run.was_killed) {
        uint64_t dropped = 0;
        for (const Written& w : run.written) {
            dropped += w.result != WriteResult::written ? 1 : 0;
        }
        require(reserve == slots + run.final_value(7), "slots were reserved twice or lost");
        require(run.final_value(3) == written, "the count of records is wrong");
        require(dropped == run.final_value(4) + run.final_value(5) + run.final_value(6),
                "the count of dropped records is wrong");
        require(run.final_value(1) == 0 && run.final_value(2) == 0, "the ring is left open");
        // What the thread itself wrote is never refused: only handlers give way.
        require(run.written[0].result == WriteResult::written, "the outermost record was refused");
    } else {
        // What cannot be told apart is what was reserved by writes that were open and had marked
        // nothing.
        require(reserve >= slots && reserve - slots <= run.final_value(7) + unmarked_slots,
                "more slots are lost than open writes had reserved");
    }
    for (uint64_t position = 0; position < reserve; position++) {
        if (!run.was_killed) {
            read_in_all_ways(run, position, false);
        }
        read_in_all_ways(run, position, true);
    }
}

// Every place for the two handlers and for death, for the given records. Unless `full`, death comes
// to the thread and to one handler, not to a handler inside a handler.
uint64_t check_all_places(Plan plan, Mutant mutant, bool full) {
    uint64_t plans = 0;
    plan.first_at = plan.second_at = plan.kill_at = UINT64_MAX;
    const auto length_of = [&](const Plan& p) {
        Run run;
        run.execute(p, mutant);
        return run.model.steps;
    };
    const auto with_deaths = [&](Plan p) {
        check(p, mutant);
        plans++;
        if (!full && p.second_at != UINT64_MAX) {
            return;
        }
        const uint64_t steps = length_of(p);
        for (uint64_t k = 0; k <= steps; k++) {
            p.kill_at = k;
            check(p, mutant);
            plans++;
        }
    };
    with_deaths(plan);
    if (plan.first.empty()) {
        return plans;
    }
    const uint64_t outer_steps = length_of(plan);
    for (uint64_t f = 0; f < outer_steps; f++) {
        plan.first_at = f;
        plan.second_at = UINT64_MAX;
        with_deaths(plan);
        if (plan.second.empty()) {
            continue;
        }
        Plan without = plan;
        const uint64_t first_steps = length_of(without) - outer_steps;
        for (uint64_t s = f + 1; s < f + first_steps; s++) {
            plan.second_at = s;
            with_deaths(plan);
        }
    }
    return plans;
}

// Record lengths that overwrite each other in full, in part, at the head and at the tail. The full
// set takes some seconds of processor time, the short one a fraction.
std::vector<Plan> make_plans(bool full) {
    std::vector<Plan> out;
    for (unsigned a = 1; a <= 3; a++) {
        for (unsigned b = 1; b <= 3; b++) {
            for (unsigned c = 1; c <= 3; c++) {
                out.push_back({{a, b, c}, {}, {}});
            }
            if (!full && a + b > 3) {
                continue;
            }
            for (unsigned c = 1; c <= 2; c++) {
                out.push_back({{a, b}, {c, 2}, {1}});
                out.push_back({{a, b}, {1, c, 1}, {}});
            }
        }
    }
    out.push_back({{1, 1, 1, 1, 2}, {}, {}});
    if (full) {
        out.push_back({{2, 2}, {2}, {1, 2}});
    }
    return out;
}

// The first violation, or an empty string.
std::string find_violation(Mutant mutant, bool full, uint64_t* runs) {
    try {
        for (const Plan& plan : make_plans(full)) {
            *runs += check_all_places(plan, mutant, full);
        }
    } catch (const Violation& violation) {
        return violation.what;
    }
    return {};
}

}  // namespace

TEST_CASE("model: no interleaving, signal or death breaks the recorder's protocol") {
    uint64_t runs = 0;
    g_reads = 0;
    REQUIRE(find_violation(Mutant::none, false, &runs) == "");
    INFO(runs << " writer histories, " << g_reads << " reads");
    // So that an exploration that ends early is noticed.
    REQUIRE(runs > 5'000);
    REQUIRE(g_reads > 200'000);
}

// Run by hand: minivm_tests "[exhaustive]".
TEST_CASE("model: the same with longer records in front of the handlers", "[.][exhaustive]") {
    uint64_t runs = 0;
    g_reads = 0;
    REQUIRE(find_violation(Mutant::none, true, &runs) == "");
    WARN(runs << " writer histories, " << g_reads << " reads");
}

TEST_CASE("model: each mutant of the recorder's protocol is caught") {
    for (unsigned i = 1; i < static_cast<unsigned>(Mutant::count); i++) {
        const auto mutant = static_cast<Mutant>(i);
        uint64_t runs = 0;
        INFO(name_of(mutant));
        CHECK(find_violation(mutant, false, &runs) != "");
    }
}
