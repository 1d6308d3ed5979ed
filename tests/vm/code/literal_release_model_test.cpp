// A model of how literals are given back (vm/process/literal_release.cpp; docs/protocols/
// code_loading.md, "Literals"), in all schedules and with weak memory. Thread progress is the code
// that the VM runs; the round, the copying of terms and the end of a process are written down here
// as literal_release.cpp, heap.cpp (copy_term) and process_life.cpp (end_process) have them, for
// they hang on heaps and mailboxes. Each wait of the round is left out and has to be missed.
#include "tests/support/model/explorer.hpp"
#include "tests/support/model/mutants.hpp"
#include "tests/support/model/progress.hpp"

#include <catch2/catch.hpp>

namespace minivm {
namespace {

using model::Atomic;
using model::Data;
using model::kAlive, model::kFreed;
using model::Participant;

enum class LeftOut { nothing, before_asking, after_answers, before_freeing };
enum class Sender { goes_on, ends };
enum class Slices { any, in_turn };  // in turn: but for the sender's last

// Two schedulers with a process each. The sender has a literal and sends it to the receiver in one
// of its time slices, in a message or as the reason of its end; a third thread gives the literal
// back. The next round, which is about another literal, begins by marking that one.
template <Sender kSender, LeftOut kLeftOut, int kSendIn = 1, Slices kSlices = Slices::any>
struct Release final : model::World {
    model::Progress<2> core;
    Participant* slot[2] = {core.join(), core.join()};  // sender's, receiver's
    Atomic<bool> released{false};                       // g_literals_released
    Data<int> literal{kAlive, "literal"};
    Atomic<bool> next_marked{false};
    Atomic<int> open{0};  // who has not answered, and the one who asks

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

    Release() {
        core.wake(slot[0]);
        core.wake(slot[1]);
        process[0].refers = true;
    }
    unsigned threads() const override { return 3; }
    uint64_t digest() const override { return static_cast<uint64_t>(freed * 100 + turn); }

    // thread_progress::later(): of the thread that calls.
    void later(thread_progress::Work f) {
        const unsigned me = model::current_thread();
        if (me < 2 && awake[me]) {
            core.later(slot[me], f, this);
        } else {
            core.later(f, this);
        }
    }
    static void step_after(LeftOut wait, Release* self, thread_progress::Work f) {
        if (kLeftOut == wait) {
            f(self);
        } else {
            self->later(f);
        }
    }

    // ---- the round

    void begin_round() {
        released.store(true, std::memory_order_seq_cst);
        open.store(1, std::memory_order_relaxed);
        step_after(LeftOut::before_asking, this, ask);
    }
    static void ask(void* data) {
        auto* self = static_cast<Release*>(data);
        for (Process& p : self->process) {
            self->open.fetch_add(1, std::memory_order_relaxed);
            p.mailbox.lock();
            const bool refused = p.closed;
            p.asked = !refused;
            p.mailbox.unlock();
            if (refused) {
                self->answered();
            }
        }
        self->answered();
    }
    void answered() {
        if (open.fetch_sub(1, std::memory_order_acq_rel) == 1) {
            step_after(LeftOut::after_answers, this, stop_copying);
        }
    }
    static void stop_copying(void* data) {
        auto* self = static_cast<Release*>(data);
        self->released.store(false, std::memory_order_seq_cst);
        step_after(LeftOut::before_freeing, self, free_area);
    }
    static void free_area(void* data) {
        auto* self = static_cast<Release*>(data);
        self->literal = kFreed;
        self->freed++;
        self->next_marked.store(true, std::memory_order_relaxed);
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
            answered();
        }
    }
    void end_process(Process& p, Process& linked) {
        p.mailbox.lock();
        p.closed = true;
        const bool asked = p.asked;
        p.asked = p.message = false;
        p.mailbox.unlock();
        if (asked) {
            answered();  // refused
        }
        send(p, linked);
        p.refers = false;
    }

    void run(unsigned thread) override {
        if (thread == 2) {
            begin_round();
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
                if (kSender == Sender::ends) {
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
    }
    // The rest, one after the other, until the round is over.
    void end() override {
        awake[0] = awake[1] = false;
        for (int round = 0; round < 8; round++) {
            for (int i = 0; i < 2; i++) {
                core.quiescent(slot[i]);
                if (!process[i].closed) {
                    handle_signals(process[i]);
                    use(process[i]);
                }
            }
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
    check_right<Release<Sender::goes_on, LeftOut::nothing>>(1);
    check_right<Release<Sender::ends, LeftOut::nothing>>(1);
    check_right<Release<Sender::ends, LeftOut::nothing, 3, Slices::in_turn>>(1);
    check_right<Release<Sender::goes_on, LeftOut::nothing, 3, Slices::in_turn>>(2);
}

// Run by hand: minivm_tests "[model]".
TEST_CASE("model: a literal is given back, more schedules", "[.][model]") {
    check_right<Release<Sender::goes_on, LeftOut::nothing>>(2);
    check_right<Release<Sender::ends, LeftOut::nothing>>(2);
    check_right<Release<Sender::goes_on, LeftOut::nothing, 3>>(1);
    check_right<Release<Sender::ends, LeftOut::nothing, 4, Slices::in_turn>>(3);
}

TEST_CASE("model: leaving out any one wait of the release of literals goes wrong") {
    const char* const used = "a literal is used that has been given back";
    using Unasked = Release<Sender::goes_on, LeftOut::before_asking>;
    CHECK(error_of<Unasked>().find(used) == 0);
    using Ending = Release<Sender::ends, LeftOut::after_answers>;
    CHECK(error_of<Ending>().find(used) == 0);
    using Copying = Release<Sender::goes_on, LeftOut::before_freeing, 3, Slices::in_turn>;
    CHECK(error_of<Copying>().find("a mark changes under a copy") == 0);
}

}  // namespace minivm
