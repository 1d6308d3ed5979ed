// The processes that wait for a socket, and the messages that they get.
#include "vm/nif/sockets/socket.hpp"

#include "vm/nif/built_in.hpp"
#include "vm/process/process_table.hpp"

#include <algorithm>
#include <climits>

namespace minivm::nif::sockets {

void KeptTerm::set(Term t) {
    heap_.clear();
    term_ = copy_term(t, heap_, false);
}
Term KeptTerm::copy_to(Heap& h) const {
    return copy_term(term_, h, true);
}

// ---- monitors ---------------------------------------------------------------------------------------------------

bool watch(Socket& s, Term pid, MonitorId* monitor) {
    const Pid target{pid.raw};
    return enif_monitor_process(nullptr, &s, &target, monitor) == 0;
}
void unwatch(Socket& s, const MonitorId& monitor) {
    enif_demonitor_process(nullptr, &s, &monitor);
}
void release(Socket& s, std::unique_ptr<Requestor>& r) {
    if (r != nullptr && r->watched) {
        unwatch(s, r->monitor);
    }
    r = nullptr;
}

// ---- lines ------------------------------------------------------------------------------------------------------

namespace {

std::unique_ptr<Requestor> requestor(const Call& call) {
    auto r = std::make_unique<Requestor>();
    r->pid = call.self();
    r->handle.set(call.handle);
    r->watched = watch(call.socket, r->pid, &r->monitor);
    return r;
}

void post(Term pid, Term message) {
    const Pid to{pid.raw};
    enif_send(nullptr, &to, nullptr, message.raw);
}

}  // namespace

bool stands_in(const Line& line, Term pid) {
    return std::any_of(line.waiting.begin(), line.waiting.end(), [&](const auto& r) { return r->pid == pid; });
}
void stand_in(Line& line, const Call& call) {
    line.waiting.push_back(requestor(call));
}
void become_current(std::unique_ptr<Requestor>& current, const Call& call) {
    if (current == nullptr) {
        current = requestor(call);
    } else {
        current->handle.set(call.handle);
    }
}

namespace {

// Selects with the message {'$socket', Socket, select, Handle}. Returns what enif_select() does; negative: it failed.
int select_for(Env* env, Socket& s, Term ref, int mode, Term pid, Term handle) {
    static const Term tag = atom("$socket");
    static const Term select = atom("select");
    Heap h;
    const Term message = make_tuple(h, tag, make_tuple(h, tag, ref), select, handle);
    const Pid to{pid.raw};
    return enif_select(env, s.fd, mode | kSelectCustomMessage, &s, &to, message.raw);
}

}  // namespace

bool wait_for(const Call& call, int mode, Term pid, Word* error) {
    const int result = select_for(call.env, call.socket, call.ref, mode, pid, call.handle);
    if (result < 0) {
        *error = raise(call.env, make_tuple(heap_of(call.env), atom(mode == kSelectRead ? "select_read" : "select_write"),
                                            make_small(result)));
        return false;
    }
    (mode == kSelectRead ? call.socket.read_state : call.socket.write_state) |= kSelected;
    return true;
}

void next_in_line(Env* env, Socket& s, Term ref, Line& line, int mode) {
    release(s, line.current);
    while (!line.waiting.empty()) {
        std::unique_ptr<Requestor> next = std::move(line.waiting.front());
        line.waiting.erase(line.waiting.begin());
        const int result = select_for(env, s, ref, mode, next->pid, next->handle.get());
        if (result >= 0) {
            (mode == kSelectRead ? s.read_state : s.write_state) |= kSelected;
            line.current = std::move(next);
            return;
        }
        Heap h;
        send_abort(env, ref, *next, make_tuple(h, atom("select_failed"), make_small(result)));
        release(s, next);
    }
}

void abort_line(Env* env, Socket& s, Term ref, Line& line, Term reason, bool current_too) {
    if (line.current != nullptr && current_too) {
        send_abort(env, ref, *line.current, reason);
    }
    release(s, line.current);
    for (auto& r : line.waiting) {
        send_abort(env, ref, *r, reason);
        release(s, r);
    }
    line.waiting.clear();
}

Word cancel_select(Env* env, Socket& s, int mode) {
    const int result = enif_select(env, s.fd, mode | kSelectCancel, &s, nullptr, kNil.raw);
    if (result < 0) {
        return atom("not_found").raw;
    }
    return (result & (mode == kSelectRead ? kReadCancelled : kWriteCancelled)) != 0 ? atoms::ok.raw
                                                                                     : atom("select_sent").raw;
}

// ---- messages ---------------------------------------------------------------------------------------------------

Term socket_message(Heap& h, Term ref, const char* tag, Term info) {
    static const Term name = atom("$socket");
    return make_tuple(h, name, make_tuple(h, name, ref), atom(tag), info);
}
void send_abort(Env*, Term ref, const Requestor& to, Term reason) {
    Heap h;
    post(to.pid, socket_message(h, ref, "abort", make_tuple(h, to.handle.get(), reason)));
}

}  // namespace minivm::nif::sockets
