// Waiting for files on behalf of libraries: enif_select().
//
// The files form a set of their own (epoll), which an idle scheduler or the ports' thread waits for among the sockets
// (poller.hpp), so a port may wait for the same file. Each file is armed for one event at a time, so the library gets
// no second message before it asks again.
//
// Threads: any; one lock. No callback and no destructor runs under it, since either may select.
#include "vm/nif/api.hpp"
#include "vm/nif/resource.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/progress/thread_progress.hpp"
#include "vm/sched/poller.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"

#include <climits>

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace minivm::nif {

namespace {

constexpr uint32_t kErrorEvents = EPOLLERR | EPOLLHUP;

// The message that one event sends, once.
struct Interest {
    Term pid = kNonValue;
    Signal* message = nullptr;  // null: nobody waits
};

// A file that some resource has selected and not stopped.
struct File {
    Resource* resource = nullptr;  // a reference is kept
    uint32_t generation = 0;       // by which late events of a descriptor's former file are recognised
    uint32_t armed = 0;            // EPOLLIN, EPOLLOUT, EPOLLERR: asked for, and not happened yet
    bool wants_error = false;      // EPOLLERR was asked for once; else an error counts as the armed events
    bool always_ready = false;     // one that cannot be waited for, such as an ordinary file
    Interest in;
    Interest out;
    Interest error;
};

struct State {
    std::mutex lock;
    int epoll = -1;
    uint32_t generations = 0;
    std::unordered_map<int, File> files;
};
State g;

// Work to do once the lock is free.
struct Afterwards {
    std::vector<Interest> sent;
    std::vector<Signal*> dropped;
    std::vector<Resource*> released;
    std::vector<std::string> reports;
    Env* sent_from = nullptr;  // the environment whose terms became a message

    void run();
};

void send(const Interest& i) {
    const thread_progress::DelaySection section;
    Process* const to = process_table::lookup(i.pid);
    if (to == nullptr || !push_message(*to, i.message)) {
        free_signal(i.message);
    }
}

// Logs an error, as the VM does for other bad use.
void report(const std::string& text) {
    static constexpr char kFormat[] = "~ts~n";
    static const Term logger = atom_table::intern("logger");
    static const Term log = atom_table::intern("log");
    Heap h;
    const Term args = cons(h, make_string_utf8(h, text.data(), text.size()), kNil);
    const Term format = make_string(h, kFormat, sizeof(kFormat) - 1);
    deliver_message(logger, make_tuple(h, log, atoms::error, format, args, map::empty(h)));
}

void Afterwards::run() {
    for (const Interest& i : sent) {
        send(i);
    }
    for (Signal* s : dropped) {
        free_signal(s);
    }
    for (Resource* r : released) {
        r->release();
    }
    for (const std::string& text : reports) {
        report(text);
    }
    if (sent_from != nullptr) {
        sent_from->clear();
    }
}

// take() and drop() end an interest: its message is to be sent, or to be freed. True: there was one.
bool take(Interest& i, std::vector<Interest>& to) {
    if (i.message == nullptr) {
        return false;
    }
    to.push_back(std::exchange(i, {}));
    return true;
}
bool drop(Interest& i, Afterwards& after) {
    if (i.message == nullptr) {
        return false;
    }
    after.dropped.push_back(std::exchange(i, {}).message);
    return true;
}

void fire(File& f, uint32_t events, Afterwards& after) {
    f.armed &= ~events;
    if ((events & EPOLLIN) != 0) {
        take(f.in, after.sent);
    }
    if ((events & EPOLLOUT) != 0) {
        take(f.out, after.sent);
    }
    if ((events & EPOLLERR) != 0) {
        take(f.error, after.sent);
    }
}

// 0, or why not (errno).
int control(int operation, int fd, const File& f) {
    epoll_event e{};
    e.events = f.armed | EPOLLONESHOT;
    e.data.u64 = uint64_t{f.generation} << 32 | static_cast<uint32_t>(fd);
    return epoll_ctl(g.epoll, operation, fd, &e) == 0 ? 0 : errno;
}

// Files without anything armed stay in the set, disabled.
int arm(int fd, const File& f) {
    return f.always_ready ? 0 : control(EPOLL_CTL_MOD, fd, f);
}

// Called by the thread that waits for the sockets.
void look() {
    epoll_event events[64];
    const int n = epoll_wait(g.epoll, events, 64, 0);
    Afterwards after;
    {
        const std::lock_guard lock(g.lock);
        for (int i = 0; i < n; ++i) {
            const uint64_t what = events[i].data.u64;
            const auto fd = static_cast<int>(static_cast<uint32_t>(what));
            const auto at = g.files.find(fd);
            if (at == g.files.end() || at->second.generation != what >> 32) {
                continue;
            }
            File& f = at->second;
            const bool error = (events[i].events & kErrorEvents) != 0;
            uint32_t happened = (events[i].events | (error ? uint32_t{EPOLLERR} : 0)) & f.armed;
            // An error that nobody asked for counts as all armed events: a process that waits finds it in the file.
            if (error && (!f.wants_error || happened == 0)) {
                happened = f.armed;
            }
            fire(f, happened, after);
            if (f.armed != 0) {
                arm(fd, f);
            }
        }
    }
    after.run();
}

// Under the lock. False: out of resources.
bool start() {
    if (g.epoll < 0) {
        g.epoll = epoll_create1(EPOLL_CLOEXEC);
    }
    return g.epoll >= 0 && port::poller::watch_set(g.epoll, look);
}

std::string describe(int fd, int mode, const Resource& r, Term ref) {
    std::string text = "enif_select(_, " + std::to_string(fd) + ",";
    text += (mode & kSelectRead) != 0 ? " READ" : "";
    text += (mode & kSelectWrite) != 0 ? " WRITE" : "";
    text += (mode & kSelectStop) != 0 ? " STOP" : (mode & kSelectCancel) != 0 ? " CANCEL" : "";
    return text + ", " + text_of_term(r.type->module) + ":" + text_of_term(r.type->name) + ", " +
           text_of_term(ref) + ") ";
}

// Takes the file from another resource, as a rule because its library closed it without stopping.
void steal(int fd, File& f, std::string text, Afterwards& after) {
    const ResourceType& type = *f.resource->type;
    text += "stealing control of fd=" + std::to_string(fd) + " from resource " +
            text_of_term(type.module) + ":" + text_of_term(type.name);
    const char* with = " with ";
    for (const auto& [name, i] :
         {std::pair{"in", &f.in}, std::pair{"out", &f.out}, std::pair{"err", &f.error}}) {
        if (i->message != nullptr) {
            text += with + std::string(name) + "-pid " + text_of_term(i->pid);
            with = " and ";
        }
        drop(*i, after);
    }
    after.reports.push_back(std::move(text));
    after.released.push_back(f.resource);
    static_cast<void>(epoll_ctl(g.epoll, EPOLL_CTL_DEL, fd, nullptr));
    g.files.erase(fd);
}

Signal* message_of(Resource& r, int mode, Term message, Env* message_env, const char* event, Afterwards& after) {
    if ((mode & kSelectCustomMessage) != 0) {
        // A second message copies its terms from the first, which has them now.
        if (message_env == nullptr || after.sent_from != nullptr) {
            return new_message(message);
        }
        after.sent_from = message_env;
        return take_message(*message_env, message);
    }
    static const Term select = atom_table::intern("select");
    Heap h;
    r.retain();
    Signal* const s = new_message(
        make_tuple(h, select, make_magic_ref(h, r.id, &r), message, atom_table::intern(event)));
    return s;
}

void stop(Resource& r, int fd) {
    // acquire: pairs with commit_opened_types().
    const StopCallback callback = r.type->stop.load(std::memory_order_acquire);
    if (callback != nullptr) {
        Env env(r.type->owner.load(std::memory_order_acquire));  // acquire: as above
        callback(&env, r.data(), fd, 1);
    }
}

int select_stop(int fd, Afterwards& after) {
    int result = kStopCalled;
    const auto at = g.files.find(fd);
    if (at == g.files.end()) {
        return result;
    }
    File& f = at->second;
    static_cast<void>(epoll_ctl(g.epoll, EPOLL_CTL_DEL, fd, nullptr));
    result |= drop(f.in, after) ? kReadCancelled : 0;
    result |= drop(f.out, after) ? kWriteCancelled : 0;
    drop(f.error, after);
    after.released.push_back(f.resource);
    g.files.erase(at);
    return result;
}

uint32_t events_of(int mode) {
    return ((mode & kSelectRead) != 0 ? uint32_t{EPOLLIN} : 0) |
           ((mode & kSelectWrite) != 0 ? uint32_t{EPOLLOUT} : 0) |
           ((mode & kSelectError) != 0 ? uint32_t{EPOLLERR} : 0);
}

int select_cancel(int fd, int mode, Afterwards& after) {
    const auto at = g.files.find(fd);
    if (at == g.files.end()) {
        return 0;
    }
    File& f = at->second;
    const uint32_t events = events_of(mode) & f.armed;
    f.armed &= ~events;
    if (events != 0 && arm(fd, f) != 0) {
        return INT_MIN | kSelectFailed;
    }
    int result = 0;
    result |= (mode & kSelectRead) != 0 && drop(f.in, after) ? kReadCancelled : 0;
    result |= (mode & kSelectWrite) != 0 && drop(f.out, after) ? kWriteCancelled : 0;
    result |= (mode & kSelectError) != 0 && drop(f.error, after) ? kErrorCancelled : 0;
    return result;
}

int select_on(int fd, int mode, Resource& r, Term to, Term message, Env* message_env,
              Afterwards& after) {
    const auto [at, added] = g.files.try_emplace(fd);
    File& f = at->second;
    const uint32_t events = events_of(mode);
    f.armed |= events;
    f.wants_error |= (events & EPOLLERR) != 0;
    if (added) {
        f.generation = ++g.generations;
    }
    const int why = added ? control(EPOLL_CTL_ADD, fd, f) : arm(fd, f);
    if (added && why == EPERM) {
        f.always_ready = true;
    } else if (why != 0) {
        if (added) {
            g.files.erase(at);
        }
        return INT_MIN | kSelectFailed;
    }
    if (added) {
        f.resource = &r;
        r.retain();
    }
    const struct {
        int mode;
        Interest& interest;
        const char* event;
    } all[] = {{kSelectRead, f.in, "ready_input"},
               {kSelectWrite, f.out, "ready_output"},
               {kSelectError, f.error, "ready_error"}};
    for (const auto& one : all) {
        if ((mode & one.mode) != 0) {
            drop(one.interest, after);
            one.interest = {to, message_of(r, mode, message, message_env, one.event, after)};
        }
    }
    if (f.always_ready) {
        fire(f, f.armed & (EPOLLIN | EPOLLOUT), after);
    }
    return 0;
}

}  // namespace

extern "C" {

int enif_select_x(Env* env, int fd, int mode, void* object, const Pid* pid, Word message,
                  Env* message_env) {
    static const long most_files = sysconf(_SC_OPEN_MAX);
    Resource& r = *resource_of(object);
    if (fd < 0 || fd >= most_files) {
        if (fd > 0) {
            report(describe(fd, mode, r, term_of(message)) + "failed: fd=" + std::to_string(fd) +
                   " is larger than the largest allowed fd=" + std::to_string(most_files - 1));
        }
        return INT_MIN | kInvalidEvent;
    }
    Afterwards after;
    int result = 0;
    {
        const std::lock_guard lock(g.lock);
        const bool stops = (mode & kSelectStop) != 0;
        const bool cancels = !stops && (mode & kSelectCancel) != 0;
        const auto at = g.files.find(fd);
        if (at != g.files.end() && at->second.resource != &r) {
            steal(fd, at->second, describe(fd, mode, r, term_of(message)), after);
        }
        if (stops) {
            result = select_stop(fd, after);
        } else if (cancels) {
            result = select_cancel(fd, mode, after);
        } else if (!start() || (pid == nullptr && env->process == nullptr)) {
            result = INT_MIN | kSelectFailed;
        } else {
            const Term to = pid != nullptr ? Term{pid->id} : env->process->id;
            result = select_on(fd, mode, r, to, term_of(message), message_env, after);
        }
    }
    if ((mode & kSelectStop) != 0) {
        stop(r, fd);
    }
    after.run();
    return result;
}

int enif_select(Env* env, int fd, int mode, void* object, const Pid* pid, Word message) {
    return enif_select_x(env, fd, mode, object, pid, message, nullptr);
}

}  // extern "C"

}  // namespace minivm::nif
