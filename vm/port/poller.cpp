#include "vm/sched/pause.hpp"
#include "vm/sched/poller.hpp"

#include "recorder/recorder.hpp"
#include "vm/port/child.hpp"
#include "vm/port/port.hpp"
#include "vm/process/timer_wheel.hpp"
#include "vm/util/activity.hpp"
#include "vm/util/assert.hpp"
#include "vm/util/lock.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace minivm::port::poller {

namespace {

// How often the thread checks whether a program has ended that the kernel does not report (no pidfd_open).
constexpr int kAskChildrenMs = 20;
constexpr uint64_t kLongestWaitMs = 1000 * 60 * 60;

struct AlwaysReady {
    int fd;
    uint32_t port;
    Ready what;
};
// How `epoll` watches a file. One descriptor may have both directions, but is in `epoll` once.
struct WatchedFile {
    uint32_t port;
    uint32_t events;
};
struct Watched {
    pid_t pid;
    uint32_t port;
    int pidfd;  // -1: none; ask_children() checks the program
};

struct State {
    std::mutex mutex;
    std::thread thread;
    int epoll = -1;
    int event = -1;  // readable: the thread reads the fields below again
    // The set of the sockets, a member of `epoll`, which ignores it while a scheduler has the seat.
    int sockets = -1;
    int seat_event = -1;  // in `sockets`; readable: the scheduler that has the seat leaves it
    bool stopping = false;
    int set = -1;  // the epoll file of watch_set(), in `sockets`
    void (*look)() = nullptr;
    std::vector<AlwaysReady> always_ready;
    std::unordered_map<int, WatchedFile> files;
    std::vector<Watched> children;
    std::set<std::pair<uint64_t, uint32_t>> due;    // times, in milliseconds, and their ports
    std::unordered_map<uint32_t, uint64_t> due_of;  // the port's time in `due`: one a port
    uint64_t wakes_ms = 0;     // when the thread wakes by itself; 0: it will read `due` before it sleeps
};
State g;
std::atomic<bool> g_has_sockets{false};
std::atomic<bool> g_seat_taken{false};

// The data word of an epoll event: its kind, and the number of the port or the program.
uint64_t pack(Ready what, uint32_t number) {
    return static_cast<uint64_t>(what) << 32 | number;
}
constexpr uint64_t kEventMark = ~uint64_t{0};
constexpr uint64_t kSetMark = ~uint64_t{1};
constexpr uint64_t kSocketsMark = ~uint64_t{2};
constexpr uint64_t kSeatMark = ~uint64_t{3};
constexpr uint64_t kLeastMark = kSeatMark;

void reap(pid_t pid) {
    int status = 0;
    pid_t got;
    do {
        got = waitpid(pid, &status, 0);
    } while (got < 0 && errno == EINTR);
    forget_child(pid);
    uint32_t port = 0;
    {
        std::lock_guard lock(g.mutex);
        const auto it = std::find_if(g.children.begin(), g.children.end(),
                                     [pid](const Watched& c) { return c.pid == pid; });
        if (it == g.children.end()) {
            return;
        }
        port = it->port;
        if (it->pidfd >= 0) {
            ::close(it->pidfd);
        }
        g.children.erase(it);
    }
    child_ended(port, status);
}

// Reaps the programs without a pidfd that have ended.
void ask_children() {
    std::vector<pid_t> ended;
    {
        std::lock_guard lock(g.mutex);
        for (const Watched& c : g.children) {
            siginfo_t info{};
            if (c.pidfd < 0 &&
                waitid(P_PID, static_cast<id_t>(c.pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                info.si_pid == c.pid) {
                ended.push_back(c.pid);
            }
        }
    }
    for (const pid_t pid : ended) {
        reap(pid);
    }
}

int wait_ms() {
    std::lock_guard lock(g.mutex);
    g.wakes_ms = 0;
    if (!g.always_ready.empty()) {
        return 0;
    }
    const bool asks = std::any_of(g.children.begin(), g.children.end(),
                                  [](const Watched& c) { return c.pidfd < 0; });
    uint64_t wait = asks ? kAskChildrenMs : kLongestWaitMs;
    const uint64_t now = monotonic_ms();
    if (!g.due.empty()) {
        const uint64_t first = g.due.begin()->first;
        wait = std::min(wait, first > now ? first - now : 0);
    }
    g.wakes_ms = now + wait;
    return asks || !g.due.empty() ? static_cast<int>(wait) : -1;
}

void tell_due() {
    for (;;) {
        uint32_t port = 0;
        {
            std::lock_guard lock(g.mutex);
            if (g.due.empty() || g.due.begin()->first > monotonic_ms()) {
                return;
            }
            port = g.due.begin()->second;
            g.due.erase(g.due.begin());
            g.due_of.erase(port);
        }
        timeout(port);
    }
}

void look_at_set() {
    void (*look)() = nullptr;
    {
        std::lock_guard lock(g.mutex);
        look = g.look;
    }
    look();
}

// Makes `epoll` watch the set of the sockets, or ignore it.
void look_at_sockets(bool on) {
    epoll_event e{};
    e.events = on ? static_cast<uint32_t>(EPOLLIN) : 0u;
    e.data.u64 = kSocketsMark;
    epoll_ctl(g.epoll, EPOLL_CTL_MOD, g.sockets, &e);
}

void run() {
    pthread_setname_np(pthread_self(), "ports");
    recorder::attach_thread("ports");
    lock_waits::set_has_clock();
    activity::attach(activity::ThreadKind::poll, 1);
    epoll_event events[64];
    for (;;) {
        const int wait = wait_ms();
        activity::set(activity::Activity::sleep);
        const int n = epoll_wait(g.epoll, events, 64, wait);
        activity::set(activity::Activity::check_io);
        // The menu that asked for a pause may have read the input: see read_some() in port_io.cpp. But the end of a
        // program is reported once.
        const bool was_paused = vm::is_paused();
        if (was_paused) {
            vm::wait_while_paused();
        }
        for (int i = 0; i < n; ++i) {
            const uint64_t what = events[i].data.u64;
            const auto number = static_cast<uint32_t>(what);
            if (what < kLeastMark && static_cast<Ready>(what >> 32) == Ready::child) {
                reap(static_cast<pid_t>(number));
                continue;
            }
            if (was_paused) {
                continue;
            }
            if (what == kEventMark) {
                uint64_t count;
                [[maybe_unused]] const ssize_t got = read(g.event, &count, sizeof(count));
                std::lock_guard lock(g.mutex);
                if (g.stopping) {
                    recorder::detach_thread();
                    return;
                }
                continue;
            }
            if (what == kSocketsMark) {
                epoll_event sockets[64];
                tell_seated(sockets, wait_seated(sockets, 64, 0));
                continue;
            }
            if ((events[i].events & ~uint32_t{EPOLLOUT}) != 0) {
                ready(number, Ready::input);
            }
            if ((events[i].events & ~uint32_t{EPOLLIN}) != 0) {
                ready(number, Ready::output);
            }
        }
        if (was_paused) {
            continue;
        }
        tell_due();
        std::vector<AlwaysReady> now;
        {
            std::lock_guard lock(g.mutex);
            now = g.always_ready;
        }
        for (const AlwaysReady& r : now) {
            ready(r.port, r.what);
        }
        ask_children();
    }
}

void close_files() {
    for (int* fd : {&g.epoll, &g.event, &g.sockets, &g.seat_event}) {
        if (*fd >= 0) {
            ::close(*fd);
        }
        *fd = -1;
    }
    g.set = -1;
}

// Starts the thread unless it runs. Under the lock.
bool start() {
    if (g.epoll >= 0) {
        return true;
    }
    g.epoll = epoll_create1(EPOLL_CLOEXEC);
    g.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    g.sockets = epoll_create1(EPOLL_CLOEXEC);
    g.seat_event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const auto add = [](int set, int fd, uint64_t mark) {
        epoll_event e{};
        e.events = EPOLLIN;
        e.data.u64 = mark;
        return set >= 0 && fd >= 0 && epoll_ctl(set, EPOLL_CTL_ADD, fd, &e) == 0;
    };
    if (!add(g.epoll, g.event, kEventMark) || !add(g.epoll, g.sockets, kSocketsMark) ||
        !add(g.sockets, g.seat_event, kSeatMark)) {
        const int error = errno;
        close_files();
        errno = error;
        return false;
    }
    g.stopping = false;
    g.thread = std::thread(run);
    return true;
}

void look_again() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(g.event, &one, sizeof(one));
}

}  // namespace

static uint32_t event_of(Ready what) { return what == Ready::input ? EPOLLIN : EPOLLOUT; }

// Under the lock.
static bool watch_file(int operation, int fd, WatchedFile file) {
    epoll_event e{};
    e.events = file.events;
    e.data.u64 = pack(Ready::input, file.port);  // the events tell the direction
    const bool done = epoll_ctl(g.epoll, operation, fd, &e) == 0;
    if (done) {
        g.files[fd] = file;
    }
    return done;
}

bool watch(int fd, uint32_t port, Ready what) {
    std::lock_guard lock(g.mutex);
    if (!start()) {
        return false;
    }
    const auto it = g.files.find(fd);
    const bool both = it != g.files.end() && it->second.port == port;
    const uint32_t events = event_of(what) | (both ? it->second.events : 0);
    if (watch_file(both ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, {port, events})) {
        return true;
    }
    if (errno != EPERM) {
        return false;
    }
    g.always_ready.push_back({fd, port, what});
    look_again();
    return true;
}

void forget(int fd, Ready what) {
    std::lock_guard lock(g.mutex);
    const auto it =
        std::find_if(g.always_ready.begin(), g.always_ready.end(),
                     [fd, what](const AlwaysReady& r) { return r.fd == fd && r.what == what; });
    if (it != g.always_ready.end()) {
        g.always_ready.erase(it);
        return;
    }
    const auto file = g.files.find(fd);
    if (file == g.files.end()) {
        return;
    }
    const uint32_t rest = file->second.events & ~event_of(what);
    if (rest != 0 && watch_file(EPOLL_CTL_MOD, fd, {file->second.port, rest})) {
        return;
    }
    g.files.erase(file);
    epoll_event unused{};
    epoll_ctl(g.epoll, EPOLL_CTL_DEL, fd, &unused);
}

static epoll_event socket_event(uint32_t port, bool output) {
    epoll_event e{};
    e.events = EPOLLIN | EPOLLRDHUP | EPOLLET | (output ? EPOLLOUT : 0u);
    e.data.u64 = pack(Ready::socket, port);
    return e;
}

bool watch_socket(int fd, uint32_t port, bool output) {
    std::lock_guard lock(g.mutex);
    if (!start()) {
        return false;
    }
    epoll_event e = socket_event(port, output);
    const bool done = epoll_ctl(g.sockets, EPOLL_CTL_ADD, fd, &e) == 0 ||
                      (errno == EEXIST && epoll_ctl(g.sockets, EPOLL_CTL_MOD, fd, &e) == 0);
    // release: pairs with take_seat(), which reads the descriptors that start() has stored.
    g_has_sockets.store(true, std::memory_order_release);
    return done;
}

bool want_output(int fd, uint32_t port, bool wanted) {
    // Without the lock: g.sockets stays the same while there are ports.
    epoll_event e = socket_event(port, wanted);
    return epoll_ctl(g.sockets, EPOLL_CTL_MOD, fd, &e) == 0;
}

bool take_seat() {
    // acquire: pairs with watch_socket() and watch_set(). relaxed: a hint; the exchange decides.
    if (!g_has_sockets.load(std::memory_order_acquire) || g_seat_taken.load(std::memory_order_relaxed)) {
        return false;
    }
    // acq_rel: the set as the previous holder of the seat left it is visible here; pairs with leave_seat().
    if (g_seat_taken.exchange(true, std::memory_order_acq_rel)) {
        return false;
    }
    look_at_sockets(false);
    return true;
}

void leave_seat() {
    // `epoll` watches the set by level: the thread gets the events of it that the seat's holder has not taken.
    look_at_sockets(true);
    // release: pairs with take_seat().
    g_seat_taken.store(false, std::memory_order_release);
}

int wait_seated(epoll_event* events, int most, int timeout_ms) {
    const int n = epoll_wait(g.sockets, events, most, timeout_ms);
    for (int i = 0; i < n; i++) {
        if (events[i].data.u64 == kSeatMark) {
            uint64_t count;
            [[maybe_unused]] const ssize_t got = read(g.seat_event, &count, sizeof(count));
        }
    }
    return n;
}

void tell_seated(const epoll_event* events, int n) {
    for (int i = 0; i < n; i++) {
        const uint64_t what = events[i].data.u64;
        if (what == kSetMark) {
            look_at_set();
        } else if (what != kSeatMark) {
            ready_socket(static_cast<uint32_t>(what), events[i].events);
        }
    }
}

// If the scheduler has left the seat meanwhile, the next wait_seated() returns at once.
void wake_seated() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = write(g.seat_event, &one, sizeof(one));
}

void forget_socket(int fd) {
    std::lock_guard lock(g.mutex);
    epoll_event unused{};
    epoll_ctl(g.sockets, EPOLL_CTL_DEL, fd, &unused);
}

void wake_at(uint32_t port, uint64_t due_ms) {
    std::lock_guard lock(g.mutex);
    if (!start()) {
        return;
    }
    const auto [it, is_new] = g.due_of.try_emplace(port, due_ms);
    if (!is_new && it->second <= due_ms) {
        return;
    }
    if (!is_new) {
        g.due.erase({it->second, port});
        it->second = due_ms;
    }
    g.due.insert({due_ms, port});
    if (due_ms < g.wakes_ms) {
        g.wakes_ms = due_ms;
        look_again();
    }
}

void forget_due(uint32_t port) {
    std::lock_guard lock(g.mutex);
    const auto it = g.due_of.find(port);
    if (it != g.due_of.end()) {
        g.due.erase({it->second, port});
        g.due_of.erase(it);
    }
}

void watch_child(pid_t pid, uint32_t port) {
    std::lock_guard lock(g.mutex);
    if (!start()) {
        return;  // the program stays a zombie, and its port does not learn of its end
    }
    const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    Watched child{pid, port, pidfd};
    if (pidfd >= 0) {
        fcntl(pidfd, F_SETFD, FD_CLOEXEC);
        epoll_event e{};
        e.events = EPOLLIN | EPOLLONESHOT;
        e.data.u64 = pack(Ready::child, static_cast<uint32_t>(pid));
        if (epoll_ctl(g.epoll, EPOLL_CTL_ADD, pidfd, &e) != 0) {
            ::close(pidfd);
            child.pidfd = -1;
        }
    }
    g.children.push_back(child);
    if (child.pidfd < 0) {
        look_again();
    }
}

bool watch_set(int epoll_fd, void (*look)()) {
    std::lock_guard lock(g.mutex);
    if (g.set == epoll_fd) {
        return true;
    }
    if (!start()) {
        return false;
    }
    g.look = look;
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = kSetMark;
    if (epoll_ctl(g.sockets, EPOLL_CTL_ADD, epoll_fd, &e) != 0) {
        return false;
    }
    g.set = epoll_fd;
    // release: pairs with take_seat(), which reads the descriptors that start() has stored.
    g_has_sockets.store(true, std::memory_order_release);
    return true;
}

void stop() {
    {
        std::lock_guard lock(g.mutex);
        if (g.epoll < 0) {
            return;
        }
        g.stopping = true;
        look_again();
    }
    g.thread.join();
    std::lock_guard lock(g.mutex);
    for (const Watched& c : g.children) {
        if (c.pidfd >= 0) {
            ::close(c.pidfd);
        }
    }
    g.children.clear();
    g.always_ready.clear();
    g.files.clear();
    g.due.clear();
    g.due_of.clear();
    // relaxed: no other thread uses the poller any more.
    g_has_sockets.store(false, std::memory_order_relaxed);
    close_files();
}

}  // namespace minivm::port::poller
