// A model of how literals are given back (docs/protocols/code_loading.md, "Literals"), in all schedules and with weak memory.
// The round (vm/process/literal_round.hpp) and thread progress are the code that the VM runs; the copying of terms and the end
// of a process are written down here as heap.cpp (copy_term) and process_life.cpp (end_process) have them, for they hang on
// heaps and mailboxes. Each wait of the round is left out and has to be missed, and so is what keeps literals for a process
// that ends while a dirty function of it goes on.
#include "tests/support/model/explorer.hpp"
#include "tests/support/model/mutants.hpp"
#include "tests/support/model/progress.hpp"
#include "vm/process/literal_round.hpp"

#include <catch2/catch.hpp>

namespace minivm {
namespace {

using model::Atomic;
using model::Data;
using model::kAlive, model::kFreed;
using model::Participant;

using literal_release::Wait;

// Those that end in a dirty function: it goes on, and looks at its arguments soon or when everything else is done.
enum class Sender { goes_on, ends, ends_dirty, ends_long_dirty };
constexpr bool is_dirty(Sender sender) { return sender >= Sender::ends_dirty; }
// What a mutant leaves out: nothing, a wait, or keep().
constexpr int kNothing = -1, kKeep = -2;
constexpr int number(Wait wait) { return static_cast<int>(wait); }
enum class Slices { any, in_turn };  // in turn: but for the sender's last

// Two schedulers with a process each. The sender has a literal and sends it to the receiver in one
// of its time slices, in a message or as the reason of its end; a third thread gives the literal
// back. The next round, which is about another literal, begins by marking that one.
template <Sender kSender, int kLeftOut, int kSendIn = 1, Slices kSlices = Slices::any>
struct Release final : model::World,
                       literal_release::LiteralRound<model::Atomics, Release<kSender, kLeftOut, kSendIn, kSlices>> {
    model::Progress<2> core;
    Participant* slot[2] = {core.join(), core.join()};  // sender's, receiver's
    Atomic<bool> released{false};                       // g_literals_released
    Data<int> literal{kAlive, "literal"};
    Atomic<bool> next_marked{false};

    // A process: its mailbox is a list that is pushed to and taken by one access each.
    struct Process {
        model::Mutex mailbox;
        bool closed = false;
        bool asked = false;  // the signal of the round
        bool message = false, message_is_literal = false;
        bool refers = false;  // to the literal
    };
    Process process[2];
    bool awake[2] = {true, true};
    int freed = 0;
    int turn = 0;
    bool dirty_refers = false;

    Release() {
        core.wake(slot[0]);
        core.wake(slot[1]);
        process[0].refers = true;
    }
    unsigned threads() const override { return 3; }
    uint64_t digest() const override { return static_cast<uint64_t>(freed * 100 + turn); }

    // ---- what the round is given

    // thread_progress::later(): of the thread that calls.
    void later(Wait wait, thread_progress::Work f, void* data) {
        const unsigned me = model::current_thread();
        if (kLeftOut == number(wait)) {
            f(data);
        } else if (me < 2 && awake[me]) {
            core.later(slot[me], f, data);
        } else {
            core.later(f, data);
        }
    }
    void set_released(bool on) { released.store(on, std::memory_order_seq_cst); }
    // Both: a part of them at a time would be a wait more, which hides that another is left out.
    bool ask_some() {
        for (Process& p : process) {
            this->count_request();
            p.mailbox.lock();
            const bool refused = p.closed;
            p.asked = !refused;
            p.mailbox.unlock();
            if (refused) {
                this->answered();
            }
        }
        return false;
    }
    void free_areas() {
        literal = kFreed;
        freed++;
        next_marked.store(true, std::memory_order_relaxed);
    }

    // ---- processes

    void use(const Process& p) {
        if (p.refers) {
            model::require(literal == kAlive, "a literal is used that has been given back");
        }
    }
    // copy_term() of both literals into a message: how much there is to copy, then the copy.
    void send(Process& from, Process& to) {
        bool is_literal = from.refers;
        if (released.load(std::memory_order_relaxed) && released.load(std::memory_order_seq_cst)) {
            const bool counted = next_marked.load(std::memory_order_relaxed);
            use(from);
            is_literal = false;
            model::require(counted == next_marked.load(std::memory_order_relaxed),
                           "a mark changes under a copy");
        }
        to.mailbox.lock();
        if (!to.closed) {
            to.message = true;
            to.message_is_literal = is_literal;
        }
        to.mailbox.unlock();
    }
    // Between two slices.
    void handle_signals(Process& p) {
        p.mailbox.lock();
        const bool asked = p.asked;
        const bool message = p.message;
        p.asked = p.message = false;
        const bool is_literal = p.message_is_literal;
        p.mailbox.unlock();
        p.refers = p.refers || (message && is_literal);
        if (asked) {
            use(p);  // it is copied
            p.refers = false;
            this->answered();
        }
    }
    void end_process(Process& p, Process& linked) {
        if (is_dirty(kSender) && kLeftOut != kKeep) {
            this->keep();
        }
        p.mailbox.lock();
        p.closed = true;
        const bool asked = p.asked;
        p.asked = p.message = false;
        p.mailbox.unlock();
        if (asked) {
            this->answered();  // refused
        }
        send(p, linked);
        dirty_refers = is_dirty(kSender) && p.refers;
        p.refers = false;
    }
    // On a dirty scheduler, which takes no part in thread progress.
    void run_dirty() {
        model::require(!dirty_refers || literal == kAlive, "a literal is used that has been given back");
        dirty_refers = false;
        if (kLeftOut != kKeep) {
            this->give_up();
        }
    }

    void run(unsigned thread) override {
        if (thread == 2) {
            this->begin();
            ++turn;
            return;
        }
        Process& p = process[thread];
        for (int slice = 0; slice <= kSendIn; slice++) {
            if (kSlices == Slices::in_turn) {
                const int place = slice < kSendIn ? static_cast<int>(thread) : -1;
                model::wait_until(turn, 1 + 2 * slice + place);
            }
            handle_signals(p);
            if (thread == 0 && slice == kSendIn) {
                if (kSender != Sender::goes_on) {
                    end_process(p, process[1]);
                } else {
                    send(p, process[1]);
                }
            } else {
                use(p);
            }
            core.quiescent(slot[thread]);
            ++turn;
        }
        if (thread == 0 && kSender == Sender::ends_dirty) {
            core.sleep(slot[0]);
            awake[0] = false;
            run_dirty();
            core.wake(slot[0]);
            awake[0] = true;
        }
    }
    // The rest, one after the other, until the round is over.
    void go_on() {
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < 2; i++) {
                core.quiescent(slot[i]);
                if (!process[i].closed) {
                    handle_signals(process[i]);
                    use(process[i]);
                }
            }
        }
    }
    void end() override {
        awake[0] = awake[1] = false;
        go_on();
        if (kSender == Sender::ends_long_dirty) {
            run_dirty();
            go_on();
        }
        core.sleep(slot[0]);
        core.sleep(slot[1]);
        use(process[1]);
        model::require(freed == 1, "the literal has not been given back");
    }
};

template <class W>
void check_right(int max_preemptions) {
    const model::Limits limits{.max_preemptions = max_preemptions};
    const model::Result result = model::explore(model::make<W>, limits);
    CHECK(result.error == "");
    CHECK(result.complete);
    CHECK(result.unordered_stores == 0);
    CHECK(result.states > 10'000);
}
template <class W>
std::string error_of() {
    const model::Limits limits{.max_preemptions = 1};
    return model::explore(model::make<W>, limits).error;
}

}  // namespace

TEST_CASE("model: a literal is given back when nobody refers to it nor will") {
    check_right<Release<Sender::goes_on, kNothing>>(1);
    check_right<Release<Sender::ends, kNothing>>(1);
    check_right<Release<Sender::ends_dirty, kNothing>>(1);
    check_right<Release<Sender::ends_long_dirty, kNothing>>(1);
    check_right<Release<Sender::ends, kNothing, 3, Slices::in_turn>>(1);
    check_right<Release<Sender::goes_on, kNothing, 3, Slices::in_turn>>(2);
}

// Run by hand: minivm_tests "[model]".
TEST_CASE("model: a literal is given back, more schedules", "[.][model]") {
    check_right<Release<Sender::goes_on, kNothing>>(2);
    check_right<Release<Sender::ends, kNothing>>(2);
    check_right<Release<Sender::goes_on, kNothing, 3>>(1);
    check_right<Release<Sender::ends, kNothing, 4, Slices::in_turn>>(3);
}

TEST_CASE("model: leaving out any one wait of the release of literals goes wrong") {
    const auto finds = [](const std::string& error, const char* what) {
        INFO(error);
        CHECK(error.find(what) == 0);
    };
    const char* const used = "a literal is used that has been given back";
    finds(error_of<Release<Sender::goes_on, number(Wait::before_asking)>>(), used);
    finds(error_of<Release<Sender::ends, number(Wait::after_answers)>>(), used);
    finds(error_of<Release<Sender::goes_on, number(Wait::before_freeing), 3, Slices::in_turn>>(), "a mark changes under a copy");
    finds(error_of<Release<Sender::ends_long_dirty, kKeep>>(), used);
}

}  // namespace minivm
