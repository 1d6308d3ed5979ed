// Connecting, accepting, and cancelling an operation that a process waits for.
#include "vm/nif/sockets/socket.hpp"

#include "vm/process/posix.hpp"
#include "vm/term/compare.hpp"

#include <algorithm>
#include <cerrno>

namespace minivm::nif::sockets {

// ---- connecting -------------------------------------------------------------------------------------------------

namespace {

Word finish_connect(Env* env, Socket& s) {
    release(s, s.connector);
    s.write_state &= ~kConnecting;
    int why = 0;
    socklen_t size = sizeof why;
    if (getsockopt(s.fd, SOL_SOCKET, SO_ERROR, &why, &size) != 0) {
        why = errno;
    }
    if (why != 0) {
        return errno_error(env, why);
    }
    s.write_state |= kConnected;
    return atoms::ok.raw;
}

Word connect_to(const Call& call, const SocketAddress* to) {
    Env* const env = call.env;
    Socket& s = call.socket;
    if (!s.writes_open()) {
        return closed(env);
    }
    if (s.writers.current != nullptr) {
        return wrong_state(env);
    }
    if (s.connector != nullptr) {
        if (s.connector->pid == call.self()) {
            return finish_connect(env, s);
        }
        return to != nullptr ? error(env, "already") : raise_state(env);
    }
    if (to == nullptr) {
        return raise_state(env);
    }
    if (::connect(s.fd, to->get(), to->size) == 0) {
        s.write_state |= kConnected;
        return atoms::ok.raw;
    }
    if (errno != EINPROGRESS) {
        return errno_error(env, errno);
    }
    Word failed = 0;
    if (!wait_for(call, kSelectWrite, call.self(), &failed)) {
        return failed;
    }
    become_current(s.connector, call);
    s.write_state |= kConnecting;
    return kSelect.raw;
}

}  // namespace

Word connect(Env* env, int argc, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr || (argc == 3 && !is_reference(Term{a[1]}))) {
        return raise_badarg(env);
    }
    SocketAddress to;
    if (argc == 3 && (is_nil(Term{a[2]}) || is_cons(Term{a[2]}))) {
        return not_supported(env);  // only SCTP has several addresses
    }
    if (argc == 3 && !get_address(Term{a[2]}, &to)) {
        return invalid(env, "sockaddr");
    }
    const std::lock_guard lock(s->write_lock);
    return connect_to({env, *s, Term{a[0]}, argc == 3 ? Term{a[1]} : atoms::undefined}, argc == 3 ? &to : nullptr);
}

// ---- accepting --------------------------------------------------------------------------------------------------

namespace {

Word wait_to_accept(const Call& call) {
    Socket& s = call.socket;
    Word failed = 0;
    if (!wait_for(call, kSelectRead, s.acceptors.current->pid, &failed)) {
        next_in_line(call.env, s, call.ref, s.acceptors, kSelectRead);
        return failed;
    }
    s.read_state |= kAccepting;
    return kSelect.raw;
}

void accept_is_done(const Call& call) {
    Socket& s = call.socket;
    if (s.acceptors.current != nullptr) {
        next_in_line(call.env, s, call.ref, s.acceptors, kSelectRead);
        if (s.acceptors.current == nullptr) {
            s.read_state &= ~kAccepting;
        }
    }
}

Word try_to_accept(const Call& call) {
    Env* const env = call.env;
    Socket& s = call.socket;
    const bool again = s.acceptors.current != nullptr;
    ++s.accepts.tries;
    const int fd = accept4(s.fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        ++s.accepts.done;
        Word result = 0;
        {
            const std::lock_guard lock(s.write_lock);  // for the settings that the new socket copies
            result = new_socket(env, fd, s.domain, s.type, s.protocol, &s, call.self());
        }
        accept_is_done(call);
        return result;
    }
    if (would_block(errno)) {
        if (again) {
            ++s.accepts.waits;
            // The process asked again before it got its message: the earlier wait is over.
            if (cancel_select(env, s, kSelectRead) == atoms::ok.raw) {
                send_abort(env, call.ref, *s.acceptors.current, atom("cancelled"));
            }
        }
        become_current(s.acceptors.current, call);
        return wait_to_accept(call);
    }
    const Term why = posix_error_atom(errno);
    ++s.accepts.fails;
    if (again) {
        abort_line(env, s, call.ref, s.acceptors, why, false);
        s.read_state &= ~kAccepting;
    }
    return error(env, why);
}

}  // namespace

Word accept(Env* env, int, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr) {
        return raise_badarg(env);
    }
    const Call call{env, *s, Term{a[0]}, Term{a[1]}};
    const std::lock_guard lock(s->read_lock);
    if (!s->reads_open()) {
        return closed(env);
    }
    if (s->readers.current != nullptr) {
        return wrong_state(env);
    }
    if (s->acceptors.current == nullptr || s->acceptors.current->pid == call.self()) {
        return try_to_accept(call);
    }
    if (stands_in(s->acceptors, call.self())) {
        return raise_state(env);
    }
    stand_in(s->acceptors, call);
    return kSelect.raw;
}

// ---- cancelling -------------------------------------------------------------------------------------------------

namespace {

// ok, select_sent or not_found: what happened to the message that the caller waits for.
Word cancel_in(const Call& call, Line& line, int mode) {
    Socket& s = call.socket;
    static const Term not_found = atom("not_found");
    if (line.current == nullptr) {
        return not_found.raw;
    }
    if (line.current->pid == call.self()) {
        if (!exact_equal(line.current->handle.get(), call.handle)) {
            return not_found.raw;
        }
        const Word result = cancel_select(call.env, s, mode);
        next_in_line(call.env, s, call.ref, line, mode);
        if (&line == &s.acceptors && line.current == nullptr) {
            s.read_state &= ~kAccepting;
        }
        return result;
    }
    for (auto it = line.waiting.begin(); it != line.waiting.end(); ++it) {
        if ((*it)->pid == call.self() && exact_equal((*it)->handle.get(), call.handle)) {
            release(s, *it);
            line.waiting.erase(it);
            return atoms::ok.raw;
        }
    }
    return not_found.raw;
}

Word cancel_connect(const Call& call) {
    Socket& s = call.socket;
    if (s.connector == nullptr || s.connector->pid != call.self() ||
        !exact_equal(s.connector->handle.get(), call.handle)) {
        return error(call.env, "not_found");
    }
    const Word result = cancel_select(call.env, s, kSelectWrite);
    release(s, s.connector);
    s.write_state &= ~kConnecting;
    return result;
}

bool is_one_of(Term t, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return atom(name) == t; });
}

}  // namespace

Word cancel(Env* env, int, const Word* a) {
    static const Term connect_name = atom("connect");
    static const Term accept_name = atom("accept");
    Socket* const s = socket_of(env, a[0]);
    const Term what{a[1]};
    if (s == nullptr || !is_atom(what) || !is_reference(Term{a[2]})) {
        return raise_badarg(env);
    }
    const Call call{env, *s, Term{a[0]}, Term{a[2]}};
    const bool reads = what == accept_name || is_one_of(what, {"recv", "recvfrom", "recvmsg", "recvmmsg"});
    const bool writes = what == connect_name || is_one_of(what, {"send", "sendto", "sendmsg", "sendmmsg", "sendv", "sendfile"});
    const std::lock_guard lock(reads ? s->read_lock : s->write_lock);
    if (!(reads ? s->reads_open() : s->writes_open())) {
        return closed(env);
    }
    if (what == connect_name) {
        return cancel_connect(call);
    }
    return reads    ? cancel_in(call, what == accept_name ? s->acceptors : s->readers, kSelectRead)
           : writes ? cancel_in(call, s->writers, kSelectWrite)
                    : raise_badarg(env);
}

}  // namespace minivm::nif::sockets
