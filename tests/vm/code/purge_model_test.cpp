// A model of how old code is purged (docs/protocols/code_loading.md, "Deleting and purging"), in all schedules and with weak
// memory. The waits of the purge (vm/code_change/purge_steps.hpp) and thread progress are the code that the VM runs; what happens
// between the waits and what processes do is written down here, for it hangs on tables, signals and frames. Each wait left
// out has to be missed.
#include "tests/support/model/explorer.hpp"
#include "tests/support/model/mutants.hpp"
#include "tests/support/model/progress.hpp"
#include "vm/code_change/purge_steps.hpp"

#include <catch2/catch.hpp>

namespace minivm {
namespace {

using model::Atomic;
using model::Data;
using model::kAlive, model::kFreed;
using model::Participant;

using code_change::PurgeWait;

enum class LeftOut {
    // Numbered as those of PurgeWait
    before_closing,   // of the funs: its commit
    after_closing,    // until nobody goes by the funs as they were
    before_removing,  // of the module from the tables: its commit
    before_freeing,
    nothing,
    check,        // of the process
    second_look,  // at the fun, by who was scheduled out on its way into it
    section,  // of a dirty function that looks into the tables
    hold      // of a process in a dirty function while its frames are looked at
};
enum class Process { sleeps, goes_on, at_stub, is_dirty };

// A process has a fun of old code, which is purged, and spawns another that begins with it. Its
// scheduler sleeps between two of its slices or goes on. Or it calls the fun from bytecode, and is scheduled out at the
// entry's stub for native code, where no address tells that it is about to be in the code. Or it is in a dirty function,
// which looks into the tables.
template <Process kProcess, LeftOut kLeftOut>
struct Purge final : model::World, code_change::PurgeSteps<Purge<kProcess, kLeftOut>> {
    model::Progress<1> core;
    Participant* slot = core.join();
    Atomic<int> index{0};
    // By generation: whether the fun leads to the code, and whether the tables have the module.
    Data<int> fun[3]{Data<int>(1, "fun"), Data<int>(-1, "fun"), Data<int>(-1, "fun")};
    Data<int> module[3]{Data<int>(1, "module"), Data<int>(-1, "module"), Data<int>(-1, "module")};
    Data<int> code{kAlive, "code"};
    model::Mutex signals, permission, hold;
    bool asked = false, child_asked = false, child = false;  // signals; of at_stub, child: it is in the code itself
    bool waits_at_stub = false;
    bool dirty = true;                                       // hold
    Data<int> frames{0, "frames"};
    int closings = 0, heard = 0, freed = 0, ended = 0;

    Purge() {
        if (kProcess != Process::is_dirty) {
            core.wake(slot);
        }
    }
    unsigned threads() const override { return 2; }
    uint64_t digest() const override {
        return static_cast<uint64_t>(((closings * 10 + heard) * 10 + freed) * 10 + ended);
    }

    // ---- the purge

    // All of it is on behalf of threads that are no schedulers, or of one between two processes.
    void later(PurgeWait wait, thread_progress::Work f, void* data) {
        if (kLeftOut == static_cast<LeftOut>(wait)) {
            f(data);
        } else {
            core.later(f, data);
        }
    }
    void commit_closed() { index.store(1, std::memory_order_relaxed); }
    void closed() {
        permission.lock();
        closings++;
        permission.unlock();
    }
    void commit_removed() {
        index.store(2, std::memory_order_relaxed);
        this->gone();
    }
    void free() {
        code = kFreed;
        freed++;
    }
    void check() {
        if (kProcess == Process::is_dirty) {
            if (kLeftOut != LeftOut::hold) {
                hold.lock();
            }
            const bool here = dirty;
            if (here) {
                model::require(frames == 0, "frames change under a look");
            }
            if (kLeftOut != LeftOut::hold) {
                hold.unlock();
            }
            if (!here) {
                model::wait_until(ended, 1);  // a signal does it
            }
            return;
        }
        signals.lock();
        asked = true;
        child_asked = child;  // who is not there yet is not asked
        signals.unlock();
        model::wait_until(heard, 1);
        handle_signals();  // of a process that has no more slices
    }
    void purge() {
        fun[1] = 0;
        module[1] = 1;
        this->close();
        model::wait_until(closings, 1);
        permission.lock();
        permission.unlock();
        if (kLeftOut != LeftOut::check) {
            check();
        }
        fun[2] = 0;
        module[2] = 0;
        this->remove();
    }

    // ---- the process

    // A stack trace, say.
    void look_up(int ix) {
        if (module[ix] == 1) {
            model::require(code == kAlive, "the tables lead to code that has been freed");
        }
    }
    void run_dirty() {
        if (kLeftOut != LeftOut::section) {
            core.wake(slot);
        }
        look_up(index.load(std::memory_order_relaxed));
        if (kLeftOut != LeftOut::section) {
            core.sleep(slot);
        }
        hold.lock();
        dirty = false;
        hold.unlock();
        frames = 1;
        ended = 1;
    }
    // The process itself is not in the code; a child of it, that begins with the fun, is.
    void handle_signals() {
        signals.lock();
        heard = asked ? 1 : heard;
        child = child && !child_asked;  // it is killed
        asked = child_asked = false;
        signals.unlock();
    }
    void run_process() {
        for (int slice = 0; slice < 4; slice++) {
            handle_signals();
            const int ix = index.load(std::memory_order_relaxed);
            look_up(ix);
            if (kProcess == Process::at_stub) {
                const bool goes_in = waits_at_stub && (kLeftOut == LeftOut::second_look || fun[ix] == 1);
                waits_at_stub = slice == 1 && fun[ix] == 1;
                if (goes_in) {
                    signals.lock();
                    child = true;
                    signals.unlock();
                }
            } else if (slice == 1 && fun[ix] == 1) {
                signals.lock();
                child = true;
                signals.unlock();
            }
            if (child) {
                model::require(code == kAlive, "code is run that has been freed");
            }
            if (kProcess != Process::goes_on) {
                core.sleep(slot);
                core.wake(slot);
            } else {
                core.quiescent(slot);
            }
        }
        core.sleep(slot);
        heard = 1;
    }
    void run(unsigned thread) override {
        if (thread == 1) {
            purge();
        } else if (kProcess == Process::is_dirty) {
            run_dirty();
        } else {
            run_process();
        }
    }
    void end() override {
        core.run_all();
        model::require(freed == 1, "the code has not been freed");
        model::require(!child, "code is run that has been freed");
    }
};

template <Process kProcess>
void check_right(int max_preemptions) {
    const model::Limits limits{.max_preemptions = max_preemptions};
    const auto make = model::make<Purge<kProcess, LeftOut::nothing>>;
    const model::Result result = model::explore(make, limits);
    CHECK(result.error == "");
    CHECK(result.complete);
    CHECK(result.unordered_stores == 0);
    CHECK(result.states > 1000);
}
template <Process kProcess, LeftOut kLeftOut>
std::string error_of() {
    const model::Limits limits{.max_preemptions = 2};
    return model::explore(model::make<Purge<kProcess, kLeftOut>>, limits).error;
}

}  // namespace

TEST_CASE("model: purged code is freed when nobody runs it nor finds it") {
    check_right<Process::sleeps>(1);
    check_right<Process::goes_on>(1);
    check_right<Process::at_stub>(1);
    check_right<Process::is_dirty>(1);
}

// Run by hand: minivm_tests "[model]".
TEST_CASE("model: purged code is freed, more schedules", "[.][model]") {
    check_right<Process::sleeps>(2);
    check_right<Process::goes_on>(2);
    check_right<Process::at_stub>(2);
    check_right<Process::is_dirty>(2);
}

TEST_CASE("model: leaving out any one wait of a purge goes wrong") {
    const auto finds = [](const std::string& error, const char* what) {
        INFO(error);
        CHECK(error.find(what) == 0);
    };
    const char* const table = "data may be read as it was, or while it is written";
    finds(error_of<Process::sleeps, LeftOut::before_closing>(), table);
    finds(error_of<Process::goes_on, LeftOut::after_closing>(), "code is run that has been freed");
    finds(error_of<Process::sleeps, LeftOut::check>(), "code is run that has been freed");
    finds(error_of<Process::at_stub, LeftOut::second_look>(), "code is run that has been freed");
    finds(error_of<Process::sleeps, LeftOut::before_removing>(), table);
    finds(error_of<Process::sleeps, LeftOut::before_freeing>(), "data ");
    finds(error_of<Process::is_dirty, LeftOut::section>(), "data ");
    finds(error_of<Process::is_dirty, LeftOut::hold>(), "data ");
}

}  // namespace minivm
