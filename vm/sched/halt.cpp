#include "vm/sched/halt.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "recorder/recorder.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/signal.hpp"
#include "vm/process/terminal.hpp"
#include "vm/sched/scheduler_thread.hpp"
#include "vm/term/format.hpp"

namespace minivm::vm {

std::atomic<bool> g_halting{false};

namespace {

using Clock = std::chrono::steady_clock;

// The extension of a patient plan's deadline, at a time; and how long a slogan waits for its reader.
constexpr auto kMoreTime = std::chrono::milliseconds(200);
constexpr int kSloganPatience_ms = 1000;

std::mutex g_mutex;
std::condition_variable g_condition;
// -- under the mutex
bool g_is_running = false;
std::optional<HaltPlan> g_plan;
Clock::time_point g_deadline;
// -- any thread
const Export* g_last_words = nullptr;   // set before there are other threads
std::atomic<Word> g_last_words_pid{0};  // raw
std::atomic<int> g_output_waits{0};
std::atomic<bool> g_threads_run{false};
pid_t g_pid = 0;  // written before there are other threads

// For exit() while schedulers run, called by a native function or in a child that one has forked: the threads
// use static objects, so these are not destroyed. Handlers that libraries registered later have run before this.
void leave_at_exit(int status, void*) {
    // relaxed: the thread that clears it has joined all others.
    if (!g_threads_run.load(std::memory_order_relaxed)) {
        return;
    }
    if (getpid() == g_pid) {  // a forked child would write to our recording
        MINIVM_EVENT(program_halt, static_cast<uint64_t>(status & 0xff),
                     records::atom(atom_table::intern("exit")), records::subject_or_none(kNonValue));
    }
    std::fflush(nullptr);
    _exit(status);
}

}  // namespace

// Exits with status 255 after `ms`, as OTP does when a flush takes too long. If no thread can be started the flush
// has no limit.
static void end_in(int ms) {
    try {
        std::thread([ms] {
            std::this_thread::sleep_for(std::chrono::milliseconds(ms));
            terminal::restore();
            _exit(255);
        }).detach();
    } catch (const std::system_error&) {
    }
}

Planned plan_halt(HaltPlan plan, Term how, Term by) {
    const int status = plan.status;
    const std::optional<std::string> slogan = plan.slogan;
    {
        std::lock_guard lock(g_mutex);
        if (!g_is_running) {
            return Planned::not_running;
        }
        // relaxed: halt() sets it under the lock.
        if (g_plan || g_halting.load(std::memory_order_relaxed)) {
            return Planned::later;
        }
        g_deadline = Clock::now() + std::chrono::milliseconds(plan.words_ms);
        if (plan.flush && plan.flush_ms >= 0) {
            end_in(plan.flush_ms);
        }
        g_plan = std::move(plan);
    }
    MINIVM_EVENT(program_halt, static_cast<uint64_t>(status), records::atom(how), records::subject_or_none(by));
    if (slogan && records::terms_are_on()) {  // terms may stand in it
        MINIVM_EVENT(program_slogan, std::string_view(*slogan));
    }
    g_condition.notify_all();
    Term pid = kNonValue;
    if (g_last_words != nullptr) {
        SpawnOptions options;
        options.priority = Priority::max;
        options.system_process = true;
        pid = spawn(nullptr, g_last_words, kNil, options);
    }
    if (is_value(pid)) {
        // relaxed: note_end_slow() should see it; if the process ends too early for that, the deadline comes.
        g_last_words_pid.store(pid.raw, std::memory_order_relaxed);
    } else {
        halt(0, false);
    }
    return Planned::first;
}

void abort_as_asked(Term by) {
    MINIVM_EVENT(program_abort, records::subject_or_none(by));
    terminal::restore();
    std::signal(SIGABRT, SIG_DFL);
    std::abort();
}

bool is_halt_planned() {
    std::lock_guard lock(g_mutex);
    return g_plan.has_value();
}

void halt(int status, bool flush) {
    {
        std::lock_guard lock(g_mutex);
        // relaxed: the first one decides, under the lock.
        if (g_halting.load(std::memory_order_relaxed)) {
            return;
        }
        if (!g_plan) {
            g_plan = HaltPlan{};
            g_plan->status = status;
            g_plan->flush = flush;
        }
        // seq_cst: before the look for sleepers; pairs with sleep_until_work().
        g_halting.store(true, std::memory_order_seq_cst);
    }
    wake_all_schedulers();
    g_condition.notify_all();
}

// acquire: pairs with halt().
bool is_halting() { return g_halting.load(std::memory_order_acquire); }

bool call_while_running(void (*f)(void*), void* context) {
    std::lock_guard lock(g_mutex);
    // relaxed: halt() sets it under the lock.
    if (!g_is_running || g_halting.load(std::memory_order_relaxed)) {
        return false;
    }
    f(context);
    return true;
}

void set_last_words(const Export* entry) { g_last_words = entry; }

void set_main_process(Term pid) {
    // relaxed: a number to compare with; set before that process can end.
    g_main_process.store(pid.raw, std::memory_order_relaxed);
}

// relaxed: wait_for_halt() looks at the count from time to time and reads nothing else because of it.
OutputWait::OutputWait() { g_output_waits.fetch_add(1, std::memory_order_relaxed); }
OutputWait::~OutputWait() { g_output_waits.fetch_sub(1, std::memory_order_relaxed); }

void allow_halt() {
    std::lock_guard lock(g_mutex);
    g_is_running = true;
    g_pid = getpid();
    // relaxed: as in leave_at_exit().
    g_threads_run.store(true, std::memory_order_relaxed);
    [[maybe_unused]] static const int once = on_exit(leave_at_exit, nullptr);
}
void threads_have_ended() {
    // relaxed: as in leave_at_exit().
    g_threads_run.store(false, std::memory_order_relaxed);
}

HaltPlan wait_for_halt() {
    std::unique_lock lock(g_mutex);
    // relaxed: under the lock.
    while (!g_halting.load(std::memory_order_relaxed)) {
        if (!g_plan) {
            g_condition.wait(lock);
        } else if (g_condition.wait_until(lock, g_deadline) == std::cv_status::timeout) {
            // relaxed: see OutputWait().
            if (g_plan->is_patient && g_output_waits.load(std::memory_order_relaxed) > 0) {
                g_deadline = Clock::now() + kMoreTime;
                continue;
            }
            lock.unlock();
            halt(0, false);
            lock.lock();
        }
    }
    g_is_running = false;
    return *g_plan;
}

void forget_halt() {
    std::lock_guard lock(g_mutex);
    g_plan.reset();
    // relaxed: no other thread yet.
    g_last_words_pid.store(0, std::memory_order_relaxed);
    g_main_process.store(0, std::memory_order_relaxed);
    // relaxed: as above.
    g_halting.store(false, std::memory_order_relaxed);
}

// A pipe that polls writable takes up to PIPE_BUF bytes without blocking.
void print_slogan(const std::optional<std::string>& slogan) {
    if (!slogan) {
        return;
    }
    std::string text;
    for (const char c : *slogan + "\n") {
        text += c == '\n' ? "\r" : "";
        text += c;
    }
    for (size_t at = 0; at < text.size();) {
        pollfd ready{STDERR_FILENO, POLLOUT, 0};
        if (poll(&ready, 1, kSloganPatience_ms) != 1) {
            return;
        }
        const ssize_t n = write(STDERR_FILENO, text.data() + at, std::min<size_t>(text.size() - at, PIPE_BUF));
        if (n <= 0) {
            return;
        }
        at += static_cast<size_t>(n);
    }
}

}  // namespace minivm::vm

namespace minivm {

std::atomic<Word> g_main_process{0};

void note_end_slow(Process& p, Term reason) {
    // relaxed: see vm::set_main_process().
    if (p.id.raw == g_main_process.load(std::memory_order_relaxed)) {
        const records::TermCopy<20> copy(reason, records::is_sensitive(p));
        if (const Signal* s = p.exit_signal) {
            const bool linked = static_cast<const ControlSignal*>(s)->linked;
            MINIVM_EVENT(program_killed, records::subject(p.id),
                         records::string(linked ? "an exit signal over a link" : "an exit signal"),
                         records::subject_or_none(s->from), copy.get());
        } else {
            MINIVM_EVENT(program_exit, records::subject(p.id), copy.get());
        }
    }
    if (!p.system_process) {
        return;
    }
    // relaxed: see vm::plan_halt().
    if (p.id.raw == vm::g_last_words_pid.load(std::memory_order_relaxed)) {
        vm::halt(0, false);  // no last words follow
        return;
    }
    vm::HaltPlan plan;
    plan.status = 1;
    plan.flush = false;
    plan.slogan = "System process " + display_term(p.id) + " terminated: " + display_term(reason);
    static const Term how = atom_table::intern("system_process_terminated");
    vm::plan_halt(std::move(plan), how, p.id);
}

}  // namespace minivm
