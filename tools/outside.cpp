#include "tools/outside.hpp"

#include "recorder/recorder.hpp"
#include "tools/control_socket.hpp"
#include "vm/bif/bif.hpp"
#include "vm/port/port.hpp"
#include "vm/process/posix.hpp"
#include "vm/process/signal.hpp"
#include "vm/sched/halt.hpp"
#include "vm/term/atom_table.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

namespace minivm::tools::outside {

namespace {

// Most clients that were let in and that no session has fetched yet. Sessions fetch them as fast as
// they are scheduled.
constexpr size_t kMaxWaiting = 64;
// How long the thread rests when the program has no file left for another client.
constexpr int kRestMs = 100;
// A session's output waits when more than this has not been sent to its client, and goes on below that.
constexpr size_t kBusyAboveBytes = 256 * 1024;
constexpr size_t kFreeBelowBytes = 64 * 1024;

struct State {
    Listener listener;
    std::thread thread;
    int event = -1;  // readable: stop
    std::mutex mutex;
    std::deque<int> waiting;
    bool has_begun = false;  // the VM can be sent messages
};
State g;

Term atom_process() {
    return atom_table::intern("minivm_outside");
}

// Tells the client why, with the status of a client that is at fault, if that can be sent at once; hangs up.
void refuse(int fd, const std::string& why) {
    const std::string bytes = frame('X', '\2' + why);
    static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL));
    ::close(fd);
    MINIVM_EVENT(note, std::string_view("client refused: " + why));
}

void let_in(int fd) {
    uint32_t uid = 0;
    if (!peer_user(fd, &uid)) {
        refuse(fd, "the kernel does not say who you are");
    } else if (uid != geteuid()) {
        refuse(fd, "this VM belongs to user " + std::to_string(geteuid()) + ", and you are user " +
                       std::to_string(uid));
    } else if (!add_client(fd)) {
        refuse(fd, "too many clients wait already");
    }
}

void run() {
    pthread_setname_np(pthread_self(), "outside");
    recorder::attach_thread("outside");
    for (;;) {
        pollfd files[2] = {{g.event, POLLIN, 0}, {g.listener.fd(), POLLIN, 0}};
        if (poll(files, 2, -1) < 0) {
            continue;
        }
        if (files[0].revents != 0) {
            break;
        }
        const int fd = accept4(g.listener.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            let_in(fd);
        } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
            poll(files, 1, kRestMs);
        }
    }
    recorder::detach_thread();
}

// minivm:outside_waiting() -> how many clients have not been fetched.
Term minivm_outside_waiting_0(Process&, const Term*) {
    std::lock_guard lock(g.mutex);
    return make_small(static_cast<int64_t>(g.waiting.size()));
}

// minivm:outside_next() -> Port | none | {error, Why}: the next client, linked to the caller.
Term minivm_outside_next_0(Process& p, const Term*) {
    port::OpenOptions options;
    {
        std::lock_guard lock(g.mutex);
        if (g.waiting.empty()) {
            return atom_table::intern("none");
        }
        options.from = g.waiting.front();
        g.waiting.pop_front();
    }
    // Input and output are waited for apart, which takes two descriptors.
    options.to = fcntl(options.from, F_DUPFD_CLOEXEC, 0);
    if (options.to < 0) {
        const int reason = errno;
        ::close(options.from);
        return make_tuple(p.heap, atoms::error, posix_error_atom(reason));
    }
    options.name = "outside";
    options.framing.use_packets(4);
    options.binary = true;
    options.busy_above = kBusyAboveBytes;
    options.free_below = kFreeBelowBytes;
    options.one_read = true;
    options.longest_packet = kMaxFrameBytes;
    const Term id = port::open(p, std::move(options));
    if (is_value(id)) {
        return id;
    }
    return make_tuple(p.heap, atoms::error,
                      errno == 0 ? atoms::system_limit : posix_error_atom(errno));
}

// minivm:outside_more(Port): the next input may come.
Term minivm_outside_more_1(Process& p, const Term* a) {
    return is_local_port(a[0]) ? make_bool(port::resume_input(a[0])) : badarg(p);
}

std::vector<BifDef> g_bifs = {
    {"minivm", "outside_waiting", 0, minivm_outside_waiting_0, kBifPlain, nullptr},
    {"minivm", "outside_next", 0, minivm_outside_next_0, kBifPlain, nullptr},
    {"minivm", "outside_more", 1, minivm_outside_more_1, kBifPlain, nullptr},
};

}  // namespace

void add_bifs() {
    bif_registry::add(&g_bifs);
}

bool listen(const std::string& path, std::string* error) {
    return g.listener.open(path, error);
}

bool add_client(int fd) {
    bool tell = false;
    {
        std::lock_guard lock(g.mutex);
        if (g.waiting.size() >= kMaxWaiting) {
            return false;
        }
        fcntl(fd, F_SETFL, O_NONBLOCK);
        g.waiting.push_back(fd);
        tell = g.has_begun;
    }
    // Until the boot registers that name the message is lost; minivm_outside then looks at what waits.
    if (tell) {
        vm::call_while_running([](void*) { deliver_message(atom_process(), atom_table::intern("client")); },
                               nullptr);
    }
    return true;
}

bool start(std::string* error) {
    {
        std::lock_guard lock(g.mutex);
        g.has_begun = true;
    }
    if (g.listener.fd() < 0) {
        return true;
    }
    g.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (g.event < 0) {
        *error = g.listener.path() + ": " + std::strerror(errno);
        return false;
    }
    g.thread = std::thread(run);
    return true;
}

void stop() {
    if (g.thread.joinable()) {
        const uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = write(g.event, &one, sizeof one);
        g.thread.join();
        ::close(g.event);
        g.event = -1;
    }
    g.listener.close();
}

}  // namespace minivm::tools::outside
