#include "tools/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "recorder/recorder.hpp"
#include "tools/break_menu.hpp"
#include "tools/recording.hpp"
#include "vm/fault/fault.hpp"
#include "vm/port/child.hpp"
#include "vm/process/os_signals.hpp"
#include "vm/process/terminal.hpp"
#include "vm/record/record.hpp"
#include "vm/sched/halt.hpp"
#include "vm/term/atom_table.hpp"

namespace minivm::tools {

namespace {

using Clock = std::chrono::steady_clock;

// A sender that signals a process and its group, as timeout(1) does, means one signal: the second ends
// the program no sooner than this after the first.
constexpr auto kGrace = std::chrono::milliseconds(200);

bool notify(int signal) {
    struct Call {
        int signal;
        bool has_server;
    } call{signal, false};
    vm::call_while_running(
        [](void* c) {
            auto& of = *static_cast<Call*>(c);
            of.has_server = os_signals::notify(of.signal);
        },
        &call);
    return call.has_server;
}

class Watcher {
  public:
    Watcher(const sigset_t& set, bool is_repl, bool is_otp, Break on_break)
        : set_(set), is_repl_(is_repl), is_otp_(is_otp), break_(on_break) {}

    [[noreturn]] void run() {
        for (;;) {
            const int signal = wait();
            switch (os_signals::action_of(signal)) {
                case os_signals::Action::own:
                    act_on(signal);
                    break;
                case os_signals::Action::by_default:
                    os_signals::act_by_default(signal);
                    break;
                case os_signals::Action::ignore:
                    break;
                case os_signals::Action::handle:
                    // SIGTERM that no signal server of OTP's kernel takes is left to the VM.
                    if (!notify(signal) && signal == SIGTERM) {
                        act_on(signal);
                    }
                    break;
            }
        }
    }

  private:
    int wait() {
        for (;;) {
            if (last_ == 0) {
                siginfo_t info;
                const int signal = sigwaitinfo(&set_, &info);
                // The end of a program that a port has started concerns only the port, as on OTP.
                const bool own = signal == SIGCHLD && info.si_code > 0 && port::is_child(info.si_pid);
                if (signal > 0 && !own) {
                    return signal;
                }
                continue;
            }
            const auto left = std::chrono::nanoseconds(asked_at_ + kGrace - Clock::now()).count();
            if (left <= 0) {
                end_now();
            }
            const timespec time{0, static_cast<long>(left)};
            const int signal = sigtimedwait(&set_, nullptr, &time);
            if (signal > 0) {
                return signal;
            }
        }
    }

    // A signal for which no program has set an action. SIGINT and SIGTERM end the program in order, or let
    // OTP's kernel do that where it is up; the second of them ends it at once.
    void act_on(int signal) {
        switch (signal) {
            case SIGUSR1:
                if (is_otp_ && notify(signal)) {
                    return;
                }
                vm::call_while_running([](void*) { write_report_now(); }, nullptr);
                return;
            case SIGINT:
                if (is_repl_) {
                    return;  // the prompt has it too, and knows what it is to interrupt
                }
                if (is_otp_ && !is_asked_) {
                    take_break();
                    return;
                }
                break;
            case SIGTERM:
                break;
            case SIGQUIT:
                if (!notify(signal)) {
                    os_signals::act_by_default(signal);
                }
                return;
            case SIGCONT:
            case SIGWINCH:
                os_signals::tell_terminal(signal);
                return;
            case SIGCHLD:
                return;
            default:
                os_signals::act_by_default(signal);
                return;
        }
        if (is_asked_) {
            last_ = signal;  // once the grace is over
            return;
        }
        is_asked_ = true;
        asked_at_ = Clock::now();
        if (signal == SIGTERM && notify(signal)) {
            return;
        }
        vm::HaltPlan plan;
        plan.status = 128 + signal;
        const Term how = atom_table::intern(signal == SIGINT ? "sigint" : "sigterm");
        if (vm::plan_halt(std::move(plan), how, kNonValue) == vm::Planned::not_running) {
            last_ = signal;
            end_now();  // the boot has not come far enough to end in order
        }
    }

    // Does what ^C does in OTP's emulator, as +B says.
    void take_break() {
        if (break_ == Break::ignored) {
            return;
        }
        if (break_ == Break::by_default) {
            terminal::restore();
            os_signals::act_by_default(SIGINT);
        }
        AfterBreak after = AfterBreak::go_on;
        if (!vm::call_while_running([](void* a) { *static_cast<AfterBreak*>(a) = break_menu(); }, &after)) {
            os_signals::act_by_default(SIGINT);  // nothing runs yet, or any more
        }
        if (after == AfterBreak::end) {
            vm::HaltPlan plan;
            plan.flush = false;
            vm::plan_halt(std::move(plan), atom_table::intern("break"), kNonValue);
        }
    }

    [[noreturn]] void end_now() {
        MINIVM_EVENT(program_cut_off, static_cast<int64_t>(last_));
        _exit(128 + last_);
    }

    sigset_t set_;
    bool is_repl_;
    bool is_otp_;
    Break break_;
    bool is_asked_ = false;
    Clock::time_point asked_at_;
    int last_ = 0;  // the second signal that asks for the end
};

}  // namespace

void watch_signals(const sigset_t& set, bool is_repl, bool is_otp, Break on_break) {
    std::thread([set, is_repl, is_otp, on_break] {
        pthread_setname_np(pthread_self(), "signals");
        fault::prepare_thread();
        Watcher(set, is_repl, is_otp, on_break).run();
    }).detach();
}

}  // namespace minivm::tools
