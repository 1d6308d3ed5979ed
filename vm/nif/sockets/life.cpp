// Opening and closing of sockets, information about them, and the library that module prim_socket loads.
#include "vm/nif/sockets/library.hpp"
#include "vm/nif/sockets/socket.hpp"

#include "vm/nif/built_in.hpp"
#include "vm/process/posix.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/otp_release.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

namespace minivm::nif::sockets {

namespace {

ResourceType* g_type = nullptr;  // written while the library is loaded, before any of its functions is called

// The state that all sockets share.
struct Shared {
    std::mutex lock;
    Term registry = kNonValue;
    bool debug = false;
    bool socket_debug = false;
    bool use_registry = true;
    // The numbers of open sockets.
    int64_t all = 0, streams = 0, datagrams = 0, packets = 0, inet = 0, inet6 = 0, ip = 0, tcp = 0, udp = 0;

    void count(const Socket& s, int by) {
        const std::lock_guard guard(lock);
        all += by;
        if (s.domain == AF_INET || s.domain == AF_INET6 || s.domain == AF_UNIX) {
            // As on erl, which counts no socket as local.
            (s.domain == AF_INET ? inet : inet6) += by;
        }
        if (s.type == SOCK_STREAM || s.type == SOCK_DGRAM || s.type == SOCK_SEQPACKET) {
            (s.type == SOCK_STREAM ? streams : s.type == SOCK_DGRAM ? datagrams : packets) += by;
        }
        if (s.protocol == IPPROTO_TCP || s.protocol == IPPROTO_UDP || s.protocol == IPPROTO_IP) {
            (s.protocol == IPPROTO_TCP ? tcp : s.protocol == IPPROTO_UDP ? udp : ip) += by;
        }
    }
};
Shared& shared() {
    static Shared s;
    return s;
}

// Closes the file: 0 or errno. With the option linger it waits until the data is sent, though the file is non-blocking.
int close_file(int fd, bool owned) {
    // After EINTR the descriptor is gone all the same.
    return let_go_of_socket(fd, owned) && ::close(fd) != 0 && errno != EINTR ? errno : 0;
}
// The system sends the data later, and nobody waits: for threads that may not, and under locks.
void close_file_at_once(int fd, bool owned) {
    if (!let_go_of_socket(fd, owned)) {
        return;
    }
    linger how{};
    socklen_t size = sizeof how;
    // A time of 0 does not wait: it drops the data and resets the connection, and is left as it is.
    if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &how, &size) == 0 && how.l_onoff != 0 && how.l_linger != 0) {
        how.l_onoff = 0;
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how);
    }
    ::close(fd);
}
void close_sent_file(Socket& s) {
    if (s.file >= 0) {
        ::close(s.file);
        s.file = -1;
    }
}

// Tells all processes that wait that the socket is closed. Under both locks.
void stop(Env* env, Socket& s) {
    const Term ref{enif_make_resource(env, &s)};
    static const Term closed = atom("closed");
    if (((s.read_state | s.write_state) & kSelected) != 0) {
        enif_select(env, s.fd, kSelectStop, &s, nullptr, kNil.raw);
    }
    abort_line(env, s, ref, s.writers, closed, true);
    if (s.connector != nullptr) {
        send_abort(env, ref, *s.connector, closed);
        release(s, s.connector);
    }
    abort_line(env, s, ref, s.readers, closed, true);
    abort_line(env, s, ref, s.acceptors, closed, true);
}

// Marks the socket as closed; the caller closes the file that it returns. Under both locks.
int give_up_file(Env* env, Socket& s) {
    const int fd = std::exchange(s.fd, -1);
    s.read_state |= kClosed;
    s.write_state |= kClosed;
    close_sent_file(s);
    s.meta.set(atoms::undefined);
    shared().count(s, -1);
    if (s.registered) {
        tell_registry(env, Term{enif_make_resource(env, &s)}, "del");
    }
    return fd;
}

}  // namespace

void tell_registry(Env*, Term ref, const char* what) {
    static const Term name = atom("$socket");
    Heap h;
    const Pid to{shared().registry.raw};
    if (is_value(shared().registry)) {
        enif_send(nullptr, &to, nullptr, make_tuple(h, name, atom(what), make_tuple(h, name, ref)).raw);
    }
}

void close_for(Env* env, Socket& s) {
    stop(env, s);
    s.read_state |= kClosing;
    s.write_state |= kClosing;
    close_file_at_once(give_up_file(env, s), s.owns_fd);
}

Socket* socket_of(Env* env, Word t) {
    void* object = nullptr;
    return enif_get_resource(env, t, g_type, &object) != 0 ? static_cast<Socket*>(object) : nullptr;
}

Word new_socket(Env* env, int fd, int domain, int type, int protocol, const Socket* like, Term owner) {
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    hold_socket(fd);
    Socket& s = *new (enif_alloc_resource(g_type, sizeof(Socket))) Socket;
    s.fd = fd;
    s.domain = domain;
    s.type = type;
    s.protocol = protocol;
    s.owner = owner;
    if (like != nullptr) {
        s.buffer_size = like->buffer_size;
        s.buffer_count = like->buffer_count;
        s.control_size = like->control_size;
        s.send_control_size = like->send_control_size;
        s.wrap_messages = like->wrap_messages;
        s.debug = like->debug;
        s.registered = like->registered;
        s.write_state = otp_release().number >= 26 ? unsigned{kConnected} : 0;  // not for accepted sockets in OTP 25
    }
    const Word ref = enif_make_resource(env, &s);
    enif_release_resource(&s);
    s.owner_watched = watch(s, owner, &s.owner_monitor);
    shared().count(s, 1);
    if (like != nullptr && s.registered) {
        tell_registry(env, Term{ref}, "add");
    }
    return ok(env, Term{ref});
}

namespace {

// ---- opening ----------------------------------------------------------------------------------------------------

bool flag_of(Term options, const char* name, bool otherwise) {
    bool value = otherwise;
    const Term t = field(options, name);
    if (is_value(t)) {
        get_boolean(t, &value);
    }
    return value;
}

// Applies the options of the opening, and tells the registry.
Word opened(Env* env, Word result, Term options) {
    Socket& s = *socket_of(env, tuple_element(Term{result}, 1).raw);
    {
        const std::lock_guard lock(shared().lock);
        s.debug = flag_of(options, "debug", shared().socket_debug);
        s.registered = flag_of(options, "use_registry", shared().use_registry);
    }
    if (s.registered) {
        tell_registry(env, tuple_element(Term{result}, 1), "add");
    }
    return result;
}

int option_of_file(int fd, int option, int otherwise) {
    int value = 0;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : otherwise;
}

Word open_from_descriptor(Env* env, const Word* a) {
    int fd = -1;
    if (!get_int(Term{a[0]}, &fd)) {
        return bad_integer(env, Term{a[0]});
    }
    const Term options{a[1]};
    if (!is_map(options)) {
        return raise_badarg(env);
    }
    int domain = option_of_file(fd, SO_DOMAIN, -1);
    int type = option_of_file(fd, SO_TYPE, -1);
    int protocol = option_of_file(fd, SO_PROTOCOL, -1);
    if (domain < 0 && get_family(field(options, "domain"), &domain) == 0) {
        return invalid(env, "domain");
    }
    if (type < 0 && !get_type(field(options, "type"), &type)) {
        return invalid(env, "type");
    }
    if (protocol < 0 && !get_int(field(options, "protocol"), &protocol)) {
        protocol = 0;
    }
    if (!is_descriptor_of_program(fd) && !is_held_socket(fd)) {
        return errno_error(env, EBADF);
    }
    const bool copy = flag_of(options, "dup", true);
    const int own = copy ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;
    if (own < 0) {
        return errno_error(env, errno);
    }
    const Word result = new_socket(env, own, domain, type, protocol, nullptr, env->process->id);
    Socket& s = *socket_of(env, tuple_element(Term{result}, 1).raw);
    s.original_fd = fd;
    s.owns_fd = copy;
    SocketAddress peer;
    if (getpeername(own, peer.get(), peer.room()) == 0) {
        s.write_state |= kConnected;
    }
    return opened(env, result, options);
}

Word open(Env* env, int argc, const Word* a) {
    if (argc == 2) {
        return open_from_descriptor(env, a);
    }
    int protocol = 0;
    if (!get_int(Term{a[2]}, &protocol)) {
        return bad_integer(env, Term{a[2]});
    }
    const Term options{a[3]};
    int domain = 0;
    int type = 0;
    if (!is_map(options)) {
        return raise_badarg(env);
    }
    if (get_family(Term{a[0]}, &domain) == 0) {
        return invalid(env, "domain");
    }
    if (!get_type(Term{a[1]}, &type)) {
        return invalid(env, "type");
    }
    int fd = -1;
    Bytes path;
    const Term netns = field(options, "netns");
    if (is_value(netns) && is_binary(netns) && get_bytes(netns, &path)) {
        const std::string name(reinterpret_cast<const char*>(path.data), path.size);
        fd = socket_in_namespace(name, domain, type | SOCK_CLOEXEC, protocol);
    } else {
        fd = ::socket(domain, type | SOCK_CLOEXEC, protocol);
    }
    if (fd < 0) {
        return errno_error(env, errno);
    }
    if (protocol == 0) {
        protocol = option_of_file(fd, SO_PROTOCOL, 0);
    }
    // A type may come with flags of socket(2).
    return opened(env, new_socket(env, fd, domain, option_of_file(fd, SO_TYPE, type), protocol, nullptr, env->process->id),
                  options);
}

// ---- names ------------------------------------------------------------------------------------------------------

Word bind(Env* env, int argc, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr) {
        return raise_badarg(env);
    }
    if (argc == 3) {
        return not_supported(env);  // only SCTP has several addresses
    }
    SocketAddress address;
    if (!get_address(Term{a[1]}, &address)) {
        return invalid(env, "sockaddr");
    }
    const std::lock_guard lock(s->read_lock);
    if (!s->reads_open()) {
        return error(env, "closed");
    }
    if (::bind(s->fd, address.get(), address.size) != 0) {
        return errno_error(env, errno);
    }
    s->read_state |= kBound;
    return atoms::ok.raw;
}

Word listen(Env* env, int, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    int backlog = 0;
    if (s == nullptr) {
        return raise_badarg(env);
    }
    if (!get_int(Term{a[1]}, &backlog)) {
        return bad_integer(env, Term{a[1]});
    }
    const std::lock_guard lock(s->read_lock);
    if (!s->reads_open()) {
        return error(env, "closed");
    }
    if (::listen(s->fd, backlog) != 0) {
        return errno_error(env, errno);
    }
    s->read_state |= kListening;
    return atoms::ok.raw;
}

template <int (*ask)(int, sockaddr*, socklen_t*)>
Word name_native(Env* env, int, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr) {
        return raise_badarg(env);
    }
    const std::lock_guard lock(s->read_lock);
    if (!s->reads_open()) {
        return error(env, "closed");
    }
    SocketAddress address;
    if (ask(s->fd, address.get(), address.room()) != 0) {
        return errno_error(env, errno);
    }
    return ok(env, address_term(env, address));
}
int local_name(int fd, sockaddr* address, socklen_t* size) {
    return getsockname(fd, address, size);
}
int peer_name(int fd, sockaddr* address, socklen_t* size) {
    return getpeername(fd, address, size);
}

// ---- closing ----------------------------------------------------------------------------------------------------

Word close(Env* env, int, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr) {
        return raise_badarg(env);
    }
    const std::scoped_lock lock(s->read_lock, s->write_lock);
    if (!s->reads_open()) {
        return error(env, "closed");
    }
    s->closer = env->process->id;
    if (s->closer != s->owner) {
        s->closer_watched = watch(*s, s->closer, &s->closer_monitor);
    }
    s->read_state |= kClosing;
    s->write_state |= kClosing;
    stop(env, *s);
    return atoms::ok.raw;  // finalize_close/1 next
}

// Dirty: closing may wait until the data is sent (linger).
Word finalize_close(Env* env, int, const Word* a) {
    static const Term state = atom("state");
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr) {
        return raise_badarg(env);
    }
    int fd = -1;
    {
        const std::scoped_lock lock(s->read_lock, s->write_lock);
        if ((s->read_state & kClosed) != 0) {
            return error(env, "closed");
        }
        if ((s->read_state & kClosing) == 0 || s->closer != env->process->id) {
            return raise_invalid(env, state);
        }
        s->closer = kNonValue;
        s->owner = kNonValue;
        if (s->closer_watched) {
            unwatch(*s, s->closer_monitor);
        }
        if (s->owner_watched) {
            unwatch(*s, s->owner_monitor);
        }
        s->closer_watched = s->owner_watched = false;
        fd = give_up_file(env, *s);
    }
    // The file stays non-blocking, unlike on erl: linger does not need it, and another socket may have the same file.
    const int why = close_file(fd, s->owns_fd);
    return why == 0 ? atoms::ok.raw : why == EAGAIN ? error(env, "timeout") : errno_error(env, why);
}

Word shutdown(Env* env, int, const Word* a) {
    static const Term read = atom("read");
    static const Term write = atom("write");
    static const Term both = atom("read_write");
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr) {
        return raise_badarg(env);
    }
    const Term how{a[1]};
    if (how != read && how != write && how != both) {
        return raise_invalid(env, make_tuple(heap_of(env), atom("how"), how));
    }
    const std::scoped_lock lock(s->read_lock, s->write_lock);
    if (!s->reads_open()) {
        return error(env, "closed");
    }
    return ::shutdown(s->fd, how == read ? SHUT_RD : how == write ? SHUT_WR : SHUT_RDWR) == 0 ? atoms::ok.raw
                                                                                             : errno_error(env, errno);
}

// ---- information ------------------------------------------------------------------------------------------------

Term states_term(Env* env, unsigned state) {
    static constexpr std::pair<unsigned, const char*> kNames[] = {
        {kClosed, "closed"},         {kClosing, "closing"},     {kSelected, "selected"},   {kConnected, "connected"},
        {kConnecting, "connecting"}, {kAccepting, "accepting"}, {kListening, "listening"}, {kBound, "bound"}};
    Heap& h = heap_of(env);
    Term list = kNil;
    for (const auto& [bit, name] : kNames) {
        if ((state & bit) != 0) {
            list = cons(h, atom(name), list);
        }
    }
    return list;
}

Term counters_term(Env* env, const Socket& s) {
    Heap& h = heap_of(env);
    const auto n = [&](uint64_t v) { return make_unsigned(h, v); };
    Term counters = make_map(env, {{"read_byte", n(s.in.bytes)},
                                   {"read_fails", n(s.in.fails)},
                                   {"read_pkg", n(s.in.packages)},
                                   {"read_pkg_max", n(s.in.largest)},
                                   {"read_tries", n(s.in.tries)},
                                   {"read_waits", n(s.in.waits)},
                                   {"write_byte", n(s.out.bytes)},
                                   {"write_fails", n(s.out.fails)},
                                   {"write_pkg", n(s.out.packages)},
                                   {"write_pkg_max", n(s.out.largest)},
                                   {"write_tries", n(s.out.tries)},
                                   {"write_waits", n(s.out.waits)},
                                   {"acc_success", n(s.accepts.done)},
                                   {"acc_fails", n(s.accepts.fails)},
                                   {"acc_tries", n(s.accepts.tries)},
                                   {"acc_waits", n(s.accepts.waits)}});
    if (s.files != nullptr) {
        const Socket::SentFiles& f = *s.files;
        const std::pair<const char*, uint64_t> more[] = {
            {"sendfile", f.calls},           {"sendfile_byte", f.bytes},
            {"sendfile_fails", f.fails},     {"sendfile_max", f.largest},
            {"sendfile_pkg", f.packages},    {"sendfile_pkg_max", f.largest_package},
            {"sendfile_tries", f.tries},     {"sendfile_waits", f.waits}};
        for (const auto& [name, value] : more) {
            counters = map::put(h, counters, atom(name), n(value));
        }
    }
    return counters;
}

Term how_opened(Env* env, const Socket& s) {
    return s.original_fd < 0 ? atom("normal")
           : s.owns_fd       ? make_tuple(heap_of(env), atom("fromfd"), make_small(s.original_fd))
                             : atom("fromfd");
}

Word info_of_socket(Env* env, Socket& s) {
    const std::scoped_lock lock(s.read_lock, s.write_lock);
    const auto in_line = [](const Line& line) {
        return make_small(static_cast<int64_t>(line.waiting.size()) + (line.current != nullptr ? 1 : 0));
    };
    return make_map(env, {{"domain", family_term(env, s.domain)},
                          {"type", type_term(env, s.type)},
                          {"protocol", make_small(s.protocol)},
                          {"owner", is_value(s.owner) ? s.owner : atoms::undefined},
                          {"rstates", states_term(env, s.read_state)},
                          {"wstates", states_term(env, s.write_state)},
                          {"ctype", how_opened(env, s)},
                          {"counters", counters_term(env, s)},
                          {"num_readers", in_line(s.readers)},
                          {"num_writers", in_line(s.writers)},
                          {"num_acceptors", in_line(s.acceptors)}})
        .raw;
}

Word info(Env* env, int argc, const Word* a) {
    if (argc == 1) {
        Socket* const s = socket_of(env, a[0]);
        return s == nullptr ? raise_badarg(env) : info_of_socket(env, *s);
    }
    Shared& all = shared();
    const std::lock_guard lock(all.lock);
    const Term counters = make_map(env, {{"num_cnt_bits", make_small(64)},
                                         {"num_sockets", make_small(all.all)},
                                         {"num_tdgrams", make_small(all.datagrams)},
                                         {"num_tstreams", make_small(all.streams)},
                                         {"num_tseqpkgs", make_small(all.packets)},
                                         {"num_dlocal", make_small(0)},
                                         {"num_dinet", make_small(all.inet)},
                                         {"num_dinet6", make_small(all.inet6)},
                                         {"num_pip", make_small(all.ip)},
                                         {"num_ptcp", make_small(all.tcp)},
                                         {"num_pudp", make_small(all.udp)},
                                         {"num_psctp", make_small(0)}});
    Term result = make_map(env, {{"debug", boolean(all.debug)},
                                 {"socket_debug", boolean(all.socket_debug)},
                                 {"use_registry", boolean(all.use_registry)},
                                 {"iow", atoms::false_},
                                 {"counters", counters},
                                 {"iov_max", make_small(IOV_MAX)}});
    if (otp_release().number >= 26) {
        result = map::put(heap_of(env), result, atom("eei"), atoms::true_);
        Term backend = make_map(env, {{"name", atom("unix_essio")}});
        if (otp_release().number >= 29) {
            backend = map::put(heap_of(env), backend, atom("sctp"), atoms::undefined);
        }
        result = map::put(heap_of(env), result, atom("io_backend"), backend);
    }
    return result.raw;
}

Word command(Env* env, int, const Word* a) {
    const Term name = field(Term{a[0]}, "command");
    const Term data = field(Term{a[0]}, "data");
    bool value = false;
    if (!is_value(name) || !is_value(data)) {
        return raise_badarg(env);
    }
    Shared& all = shared();
    bool* const what = name == atom("debug")          ? &all.debug
                       : name == atom("socket_debug") ? &all.socket_debug
                       : name == atom("use_registry") ? &all.use_registry
                                                      : nullptr;
    if (what == nullptr) {
        return raise_invalid(env, make_tuple(heap_of(env), atom("command"), name));
    }
    if (!get_boolean(data, &value)) {
        return raise_invalid(env, make_tuple(heap_of(env), atom("data"), data));
    }
    const std::lock_guard lock(all.lock);
    *what = value;
    return atoms::ok.raw;
}

// [{[Name | Aliases], Number}] of the protocols in /etc/protocols and those that are always there.
Term protocol_terms(Env* env) {
    Heap& h = heap_of(env);
    Term list = kNil;
    {
        const std::lock_guard lock(shared().lock);  // getprotoent(3) is not for several threads
        setprotoent(1);
        while (const protoent* const p = getprotoent()) {
            Term names = kNil;
            for (char** alias = p->p_aliases; *alias != nullptr; ++alias) {
                names = cons(h, atom(*alias), names);
            }
            names = cons(h, atom(p->p_name), names);
            list = cons(h, make_tuple(h, names, make_small(p->p_proto)), list);
        }
        endprotoent();
    }
    static constexpr Named kAlways[] = {{"ip", SOL_IP},         {"ipv6", SOL_IPV6},        {"tcp", IPPROTO_TCP},
                                        {"udp", IPPROTO_UDP},   {"igmp", IPPROTO_IGMP},    {"icmp", IPPROTO_ICMP},
                                        {"ipv6-icmp", IPPROTO_ICMPV6}};
    const size_t known = otp_release().number >= 29 ? std::size(kAlways) : 5;
    for (const Named& n : std::span(kAlways).first(known)) {
        list = cons(h, make_tuple(h, cons(h, atom(n.name), kNil), make_small(n.number)), list);
    }
    return list;
}

Word supports(Env* env, int argc, const Word* a) {
    Heap& h = heap_of(env);
    if (argc == 0) {
        static constexpr std::pair<const char*, bool> kParts[] = {
            {"sendfile", true}, {"netns", true}, {"local", true}, {"ipv6", true}, {"sctp", false}};
        Term list = kNil;
        for (const auto& [name, there] : kParts) {
            list = cons(h, make_tuple(h, atom(name), boolean(there)), list);
        }
        return list.raw;
    }
    const Term key{a[0]};
    if (key == atom("msg_flags")) {
        return named_terms(env, message_flags()).raw;
    }
    if (key == atom("protocols")) {
        return protocol_terms(env).raw;
    }
    if (key == atom("ioctl_requests")) {
        return request_terms(env).raw;
    }
    if (key == atom("ioctl_flags")) {
        return named_terms(env, interface_flags()).raw;
    }
    if (key == atom("options")) {
        // Levels came as numbers, and prim_socket looked up their names, before it passed values to getopt.
        return option_terms(env, env->library != nullptr && env->library->has_function("nif_getopt", 5)).raw;
    }
    return kNil.raw;
}

// ---- callbacks --------------------------------------------------------------------------------------------------

// The destructor.
void ended(Env*, void* object) {
    Socket& s = *static_cast<Socket*>(object);
    if (s.fd >= 0) {
        close_sent_file(s);
        shared().count(s, -1);
        close_file_at_once(s.fd, s.owns_fd);
    }
    s.~Socket();
}

// The thread that stops the select calls it at once, and closes the file itself.
void stopped(Env*, void*, int, int) {}

void give_up_place(Env* env, Socket& s, Line& line, const MonitorId& monitor, int mode) {
    if (line.current != nullptr && line.current->watched && enif_compare_monitors(&line.current->monitor, &monitor) == 0) {
        line.current->watched = false;
        next_in_line(env, s, Term{enif_make_resource(env, &s)}, line, mode);
        if (line.current == nullptr && &line == &s.acceptors) {
            s.read_state &= ~kAccepting;
        }
        return;
    }
    std::erase_if(line.waiting, [&](const auto& r) {
        return r->watched && enif_compare_monitors(&r->monitor, &monitor) == 0;
    });
}

void process_ended(Env* env, void* object, Pid*, MonitorId* monitor) {
    Socket& s = *static_cast<Socket*>(object);
    const std::scoped_lock lock(s.read_lock, s.write_lock);
    const auto is = [&](bool watched, const MonitorId& m) { return watched && enif_compare_monitors(&m, monitor) == 0; };
    const bool owner = is(s.owner_watched, s.owner_monitor);
    const bool closer = is(s.closer_watched, s.closer_monitor) || (owner && s.closer == s.owner && is_value(s.closer));
    if (owner) {
        s.owner_watched = false;
        s.owner = kNonValue;
    }
    if (closer) {
        // It ended between the two calls of a close: the second will not come.
        s.closer_watched = false;
        s.closer = kNonValue;
        if (s.fd >= 0) {
            close_file_at_once(give_up_file(env, s), s.owns_fd);
        }
    } else if (owner) {
        if (s.reads_open()) {
            close_for(env, s);
        }
    } else if (s.connector != nullptr && is(s.connector->watched, s.connector->monitor)) {
        s.connector = nullptr;
        s.write_state &= ~kConnecting;
    } else if (s.reads_open()) {
        give_up_place(env, s, s.readers, *monitor, kSelectRead);
        give_up_place(env, s, s.acceptors, *monitor, kSelectRead);
        give_up_place(env, s, s.writers, *monitor, kSelectWrite);
    }
}

// ---- the library ------------------------------------------------------------------------------------------------

int open_library(Env* env, ResourceFlags flags) {
    const ResourceTypeInit callbacks = {ended, stopped, process_ended, 3, nullptr};
    g_type = enif_open_resource_type_x(env, "sockets", &callbacks, flags, nullptr);
    return g_type != nullptr ? 0 : -1;
}
int load_library(Env* env, void**, Word info) {
    const Term registry = field(Term{info}, "registry");
    if (is_value(registry) && is_local_pid(registry)) {
        shared().registry = registry;
    }
    shared().use_registry = flag_of(Term{info}, "use_registry", true);
    shared().debug = flag_of(Term{info}, "debug", false);
    shared().socket_debug = flag_of(Term{info}, "socket_debug", false);
    return open_library(env, kCreate);
}
int upgrade_library(Env* env, void**, void**, Word) {
    return open_library(env, kTakeover);
}

Word of_sctp(Env* env, int, const Word*) {
    return not_supported(env);
}

LibraryFunction g_functions[] = {
    {"nif_info", 0, info, 0},
    {"nif_info", 1, info, 0},
    {"nif_command", 1, command, 0},
    {"nif_supports", 0, supports, 0},
    {"nif_supports", 1, supports, 0},
    {"nif_open", 2, open, 0},
    {"nif_open", 4, open, 0},
    {"nif_bind", 2, bind, 0},
    {"nif_bind", 3, bind, 0},
    {"nif_connect", 1, connect, 0},
    {"nif_connect", 3, connect, 0},
    {"nif_listen", 2, listen, 0},
    {"nif_accept", 2, accept, 0},
    {"nif_peeloff", 2, of_sctp, 0},
    {"nif_send", 4, send, 0},
    {"nif_sendto", 5, send_to, 0},
    {"nif_sendmsg", 5, send_message, 0},
    {"nif_sendmmsg", 4, send_messages, 0},
    {"nif_sendv", 3, send_vector, 0},
    {"nif_sendfile", 5, send_file, kDirtyIo},
    {"nif_sendfile", 4, send_file, kDirtyIo},
    {"nif_sendfile", 1, send_file, kDirtyIo},
    {"nif_recv", 4, receive, 0},
    {"nif_recvfrom", 4, receive_from, 0},
    {"nif_recvmsg", 5, receive_message, 0},
    {"nif_recvmmsg", 6, receive_messages, 0},
    {"nif_close", 1, close, 0},
    {"nif_finalize_close", 1, finalize_close, kDirtyIo},
    {"nif_shutdown", 2, shutdown, 0},
    {"nif_setopt", 5, set_option, 0},
    {"nif_getopt", 3, get_option, 0},
    {"nif_getopt", 4, get_option, 0},
    {"nif_getopt", 5, get_option, 0},
    {"nif_sockname", 1, name_native<local_name>, 0},
    {"nif_socknames", 2, of_sctp, 0},
    {"nif_peername", 1, name_native<peer_name>, 0},
    {"nif_peernames", 2, of_sctp, 0},
    {"nif_ioctl", 2, control_device, kDirtyIo},
    {"nif_ioctl", 3, control_device, kDirtyIo},
    {"nif_ioctl", 4, control_device, kDirtyIo},
    {"nif_cancel", 3, cancel, 0},
};

}  // namespace

const Entry& prim_socket_entry() {
    static const Entry entry = entry_of("prim_socket", g_functions, load_library, upgrade_library);
    return entry;
}

}  // namespace minivm::nif::sockets
