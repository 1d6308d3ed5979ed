// A timer that interrupts the thread that makes it, in the handlers of other signals as well.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

namespace recorder_test {

class ThreadTimer {
public:
    // The signal's handler is set for good, for one may still be on its way when the timer has
    // gone.
    ThreadTimer(int signal, void (*handler)(int), long period_ns) {
        struct sigaction action {};
        action.sa_handler = handler;
        action.sa_flags = SA_RESTART;
        sigaction(signal, &action, nullptr);
        sigevent event{};
        event.sigev_notify = SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
        good_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
        itimerspec when{};
        when.it_interval.tv_nsec = period_ns;
        when.it_value.tv_nsec = period_ns;
        good_ = good_ && timer_settime(timer_, 0, &when, nullptr) == 0;
    }
    ~ThreadTimer() { timer_delete(timer_); }
    ThreadTimer(const ThreadTimer&) = delete;
    ThreadTimer& operator=(const ThreadTimer&) = delete;
    bool good() const { return good_; }

private:
    timer_t timer_{};
    bool good_ = false;
};

}  // namespace recorder_test
