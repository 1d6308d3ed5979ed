// A socket of module socket: the resource behind its reference, and the processes that wait for it.
//
// No call waits: one that cannot be done now answers `select`, and {'$socket', Socket, select, Handle} is sent once it
// can; the caller tries again then. One process at a time reads, one writes, one accepts; others that call meanwhile
// stand in line and get the message when it is their turn, as on erl.
//
// Invariants
//   (1) read_lock guards reading and accepting, write_lock writing and connecting; closing the socket and changing
//       its owner take both, in this order. Only dirty calls (files, devices) may block in the system under one.
//   (2) fd is valid while the socket is open; once it is closing only finalize_close() uses it.
//   (3) The first process in a line has a select of the file, or is about to try again.
//   (4) Each process in a line, the owner and the closer are monitored: when one ends, it loses its place.
// Threads: any; each declaration says which locks the caller holds.
#pragma once

#include "vm/nif/sockets/values.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace minivm::nif::sockets {

// A copy of a term, outside the heaps of processes.
class KeptTerm {
  public:
    KeptTerm() = default;
    ~KeptTerm() { heap_.clear(); }
    KeptTerm(const KeptTerm&) = delete;
    KeptTerm& operator=(const KeptTerm&) = delete;
    void set(Term t);
    Term get() const { return term_; }
    Term copy_to(Heap& h) const;

  private:
    Heap heap_;
    Term term_ = atoms::undefined;
};

struct Requestor {
    Term pid = kNonValue;
    KeptTerm handle;
    MonitorId monitor{};
    bool watched = false;
};

struct Line {
    std::unique_ptr<Requestor> current;
    std::vector<std::unique_ptr<Requestor>> waiting;  // oldest first
};

enum State : unsigned {
    kBound = 1,
    kListening = 2,
    kAccepting = 4,
    kConnecting = 8,
    kConnected = 16,
    kSelected = 32,
    kClosing = 64,
    kClosed = 128,
};

struct Socket {
    std::mutex read_lock;
    std::mutex write_lock;

    int fd = -1;
    int original_fd = -1;   // the descriptor that it was opened from; -1: none
    bool owns_fd = true;    // whether closing the socket closes fd
    int domain = 0;
    int type = 0;
    int protocol = 0;

    // Under both locks to change, under one to read.
    Term owner = kNonValue;
    MonitorId owner_monitor{};
    bool owner_watched = false;
    Term closer = kNonValue;
    MonitorId closer_monitor{};
    bool closer_watched = false;

    // Under read_lock.
    unsigned read_state = 0;
    Line readers;
    Line acceptors;
    size_t buffer_size = 8 * 1024;
    unsigned buffer_count = 0;   // of {N, Size}
    unsigned buffers_read = 0;
    size_t control_size = 1024;  // bytes for received control messages
    bool select_read = false;    // a read that is complete selects for the next one
    struct {
        uint64_t bytes = 0, packages = 0, largest = 0, part = 0, tries = 0, waits = 0, fails = 0;
    } in;
    struct {
        uint64_t done = 0, tries = 0, waits = 0, fails = 0;
    } accepts;

    // Under write_lock.
    unsigned write_state = 0;
    Line writers;
    std::unique_ptr<Requestor> connector;
    size_t send_control_size = 1024;
    struct {
        uint64_t bytes = 0, packages = 0, largest = 0, part = 0, tries = 0, waits = 0, fails = 0;
    } out;
    struct SentFiles {
        uint64_t calls = 0, bytes = 0, packages = 0, largest_package = 0, largest = 0, part = 0, tries = 0, waits = 0,
                 fails = 0;
    };
    std::unique_ptr<SentFiles> files;
    int file = -1;               // the descriptor of the file that is being sent
    bool debug = false;
    bool wrap_messages = false;  // {otp, iow}; counters of 64 bits do not wrap
    bool registered = false;     // socket_registry knows the socket
    KeptTerm meta;

    bool reads_open() const { return (read_state & (kClosing | kClosed)) == 0; }
    bool writes_open() const { return (write_state & (kClosing | kClosed)) == 0; }
    bool is_stream() const { return type == SOCK_STREAM; }
};

// One call of a native.
struct Call {
    Env* env;
    Socket& socket;
    Term ref;     // of the socket
    Term handle;  // of the operation; an atom if the caller does not wait
    Term self() const { return env->process->id; }
};

// Answers of several natives.
inline const Term kSelect = atom("select");
inline const Term kZero = atom("zero");  // the handle of a caller that does not wait
inline const Term kTimeout = atom("timeout");
inline Word closed(Env* env) {
    return error(env, "closed");
}
inline Word wrong_state(Env* env) {
    return error_invalid(env, "state");
}
inline Word raise_state(Env* env) {
    return raise_invalid(env, atom("state"));
}
inline Word tagged(Env* env, Term tag, Term value) {
    return make_tuple(heap_of(env), tag, value).raw;
}
inline bool would_block(int number) {
    return number == EAGAIN || number == EWOULDBLOCK;
}
constexpr size_t kMostMessages = 1024;  // UIO_MAXIOV, as many as the system takes in one call

// Null: the term is no socket.
Socket* socket_of(Env* env, Word t);
// Makes a socket of process `owner`, with settings of `like` unless that is null: {ok, Ref}. Takes over the descriptor.
Word new_socket(Env* env, int fd, int domain, int type, int protocol, const Socket* like, Term owner);

// ---- waiting (waiting.cpp); under the lock of the line ------------------------------------------------------------

bool watch(Socket& s, Term pid, MonitorId* monitor);
void unwatch(Socket& s, const MonitorId& monitor);
void release(Socket& s, std::unique_ptr<Requestor>& r);  // and its monitor
bool stands_in(const Line& line, Term pid);
void stand_in(Line& line, const Call& call);
// The caller is first in line, with this handle.
void become_current(std::unique_ptr<Requestor>& current, const Call& call);
// mode: kSelectRead or kSelectWrite. False: raised in *error.
bool wait_for(const Call& call, int mode, Term pid, Word* error);
// The operation of the first in line is done: it is the next one's turn.
void next_in_line(Env* env, Socket& s, Term ref, Line& line, int mode);
// Empties the line. Sends an abort message to all in it, or to all but the first.
void abort_line(Env* env, Socket& s, Term ref, Line& line, Term reason, bool current_too);
void send_abort(Env* env, Term ref, const Requestor& to, Term reason);
// {'$socket', {'$socket', Ref}, Tag, Info}
Term socket_message(Heap& h, Term ref, const char* tag, Term info);
void tell_registry(Env* env, Term ref, const char* what);
// ok, select_sent or not_found.
Word cancel_select(Env* env, Socket& s, int mode);

// ---- natives ------------------------------------------------------------------------------------------------------

// connections.cpp, sending.cpp, receiving.cpp
Word connect(Env* env, int argc, const Word* a);
Word accept(Env* env, int argc, const Word* a);
Word send(Env* env, int argc, const Word* a);
Word send_to(Env* env, int argc, const Word* a);
Word send_message(Env* env, int argc, const Word* a);
Word send_messages(Env* env, int argc, const Word* a);
Word send_vector(Env* env, int argc, const Word* a);
Word send_file(Env* env, int argc, const Word* a);
Word receive(Env* env, int argc, const Word* a);
Word receive_from(Env* env, int argc, const Word* a);
Word receive_message(Env* env, int argc, const Word* a);
Word receive_messages(Env* env, int argc, const Word* a);
Word cancel(Env* env, int argc, const Word* a);

// options.cpp
Word set_option(Env* env, int argc, const Word* a);
Word get_option(Env* env, int argc, const Word* a);
Term option_terms(Env* env, bool with_names);

// control.cpp: control messages, ioctl
// The control messages that the system wrote there, [#{level, type, data, value}].
Term control_terms(Env* env, void* data, size_t size);
// False: not understood, or longer than `limit`.
bool get_control(Term list, std::vector<char>* out, size_t limit);
Word control_device(Env* env, int argc, const Word* a);
Term request_terms(Env* env);
// type_of_service.cpp
bool get_type_of_service(Term t, int* out);
Term type_of_service_term(Env* env, int value);

// life.cpp, called when the owner has ended; under both locks.
void close_for(Env* env, Socket& s);

}  // namespace minivm::nif::sockets
