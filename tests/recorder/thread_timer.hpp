// A timer that interrupts the thread that makes it, in the handlers of other signals as well.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>

namespace recorder_test {

// Each period begins when the handler of the one before has ended, so that what it interrupts goes on
// also where a handler takes longer than a period: under an emulator or a sanitizer, on a loaded
// machine. MINIVM_TIMER_NS is a period in place of the one asked for: what a machine does whose
// timers come seldom.
class ThreadTimer {
public:
    using Handler = void (*)(int);

    // The signal's handler is set for good, for one may still be on its way when the timer has
    // gone.
    ThreadTimer(int signal, Handler handler, long period_ns) : signal_(signal), handler_(handler) {
        const char* const asked = std::getenv("MINIVM_TIMER_NS");
        period_ns_ = asked == nullptr ? period_ns : std::atol(asked);
        t_timers[static_cast<size_t>(signal)] = this;
        struct sigaction action {};
        action.sa_handler = &on_expiry;
        action.sa_flags = SA_RESTART;
        sigaction(signal, &action, nullptr);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        good_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0 && arm();
    }
    ~ThreadTimer() {
        t_timers[static_cast<size_t>(signal_)] = nullptr;
        timer_delete(timer_);
    }
    ThreadTimer(const ThreadTimer&) = delete;
    ThreadTimer& operator=(const ThreadTimer&) = delete;
    bool good() const { return good_; }

private:
    bool arm() {
        itimerspec once{};
        once.it_value.tv_sec = period_ns_ / 1'000'000'000;
        once.it_value.tv_nsec = period_ns_ % 1'000'000'000;
        return timer_settime(timer_, 0, &once, nullptr) == 0;
    }
    static void on_expiry(int signal) {
        ThreadTimer* const timer = t_timers[static_cast<size_t>(signal)];
        if (timer != nullptr) {
            timer->handler_(signal);
            timer->arm();
        }
    }

    static constinit inline thread_local std::array<ThreadTimer*, NSIG> t_timers{};

    timer_t timer_{};
    int signal_;
    Handler handler_;
    long period_ns_ = 0;
    bool good_ = false;
};

}  // namespace recorder_test
