// Sending: bytes, messages, files.
#include "vm/nif/sockets/socket.hpp"

#include "vm/nif/built_in.hpp"
#include "vm/process/file_handle.hpp"
#include "vm/process/posix.hpp"
#include "vm/term/binary.hpp"

#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace minivm::nif::sockets {

// ---- sending ----------------------------------------------------------------------------------------------------

namespace {

// False: the caller must not send, and *result is the answer.
bool may_write(const Call& call, Word* result) {
    Socket& s = call.socket;
    if (!s.writes_open()) {
        *result = closed(call.env);
        return false;
    }
    if (s.connector != nullptr) {
        *result = wrong_state(call.env);
        return false;
    }
    if (s.writers.current == nullptr || s.writers.current->pid == call.self()) {
        return true;
    }
    if (stands_in(s.writers, call.self())) {
        *result = raise_state(call.env);
    } else {
        stand_in(s.writers, call);
        *result = kSelect.raw;
    }
    return false;
}

void write_is_done(const Call& call) {
    Socket& s = call.socket;
    if (s.writers.current != nullptr) {
        next_in_line(call.env, s, call.ref, s.writers, kSelectWrite);
    }
}

void count_written(Socket& s, size_t bytes, bool complete) {
    s.out.part += bytes;
    if (complete) {
        ++s.out.packages;
        s.out.largest = std::max(s.out.largest, s.out.part);
        s.out.part = 0;
    }
}

Word write_failed(const Call& call, int why) {
    Socket& s = call.socket;
    const Term reason = posix_error_atom(why);
    ++s.out.fails;
    // A bad argument says nothing about the socket, so the others stay in line.
    if (why != EINVAL && s.writers.current != nullptr) {
        abort_line(call.env, s, call.ref, s.writers, reason, false);
    }
    return error(call.env, reason);
}

// written < 0: nothing was written.
Word write_rest_later(const Call& call, ssize_t written) {
    Env* const env = call.env;
    Socket& s = call.socket;
    if (written >= 0) {
        s.out.bytes += static_cast<uint64_t>(written);
        count_written(s, static_cast<size_t>(written), !s.is_stream());
        if (!s.is_stream()) {
            write_is_done(call);
            return tagged(env, atoms::ok, make_integer(heap_of(env), written));
        }
    }
    become_current(s.writers.current, call);
    Word failed = 0;
    if (!wait_for(call, kSelectWrite, call.self(), &failed)) {
        abort_line(env, s, call.ref, s.writers, env->reason, false);
        return failed;
    }
    ++s.out.waits;
    return written >= 0 ? tagged(env, kSelect, make_integer(heap_of(env), written)) : kSelect.raw;
}

// The answer to a send(2) that returned `written`. more: there are more buffers than one call takes.
Word sent(const Call& call, ssize_t written, size_t size, bool more) {
    static const Term iov = atom("iov");
    Socket& s = call.socket;
    if (written < 0) {
        return would_block(errno) || errno == EINTR ? write_rest_later(call, -1) : write_failed(call, errno);
    }
    if (static_cast<size_t>(written) < size) {
        return write_rest_later(call, written);
    }
    s.out.bytes += static_cast<uint64_t>(written);
    if (more) {
        // The caller goes on at once; no other process gets in between.
        count_written(s, static_cast<size_t>(written), false);
        become_current(s.writers.current, call);
        return tagged(call.env, iov, make_integer(heap_of(call.env), written));
    }
    count_written(s, static_cast<size_t>(written), true);
    write_is_done(call);
    return atoms::ok.raw;
}

// Reads socket, data, flags and handle of send and sendto. False: *result is the answer.
bool send_arguments(Env* env, Word socket, Word data, Word flags, Word handle, Socket** s, Bytes* bytes, int* number,
                    Word* result) {
    *s = socket_of(env, socket);
    if (*s == nullptr || !is_reference(Term{handle}) || !is_binary(Term{data}) || !get_bytes(Term{data}, bytes)) {
        *result = raise_badarg(env);
        return false;
    }
    if (!get_int(Term{flags}, number)) {
        *result = bad_integer(env, Term{flags});
        return false;
    }
    return true;
}

}  // namespace

Word send(Env* env, int, const Word* a) {
    Socket* s = nullptr;
    Bytes bytes;
    int flags = 0;
    Word result = 0;
    if (!send_arguments(env, a[0], a[1], a[2], a[3], &s, &bytes, &flags, &result)) {
        return result;
    }
    const Call call{env, *s, Term{a[0]}, Term{a[3]}};
    const std::lock_guard lock(s->write_lock);
    if (!may_write(call, &result)) {
        return result;
    }
    ++s->out.tries;
    return sent(call, ::send(s->fd, bytes.data, bytes.size, flags | MSG_NOSIGNAL), bytes.size, false);
}

Word send_to(Env* env, int, const Word* a) {
    Socket* s = nullptr;
    Bytes bytes;
    int flags = 0;
    Word result = 0;
    SocketAddress to;
    if (!send_arguments(env, a[0], a[1], a[3], a[4], &s, &bytes, &flags, &result)) {
        return result;
    }
    if (!get_address(Term{a[2]}, &to)) {
        return invalid(env, "sockaddr");
    }
    const Call call{env, *s, Term{a[0]}, Term{a[4]}};
    const std::lock_guard lock(s->write_lock);
    if (!may_write(call, &result)) {
        return result;
    }
    ++s->out.tries;
    return sent(call, ::sendto(s->fd, bytes.data, bytes.size, flags | MSG_NOSIGNAL, to.get(), to.size), bytes.size,
                false);
}

namespace {

// The buffers of a list of binaries, as many as one call takes.
class Buffers {
  public:
    ~Buffers() {
        if (vector_ != nullptr) {
            enif_free_iovec(vector_);
        }
    }
    Buffers() = default;
    Buffers(const Buffers&) = delete;
    Buffers& operator=(const Buffers&) = delete;
    // False: no list of binaries, or too many for a socket that sends them as one message.
    bool take(Term list, bool stream) {
        Word rest = kNil.raw;
        if (enif_inspect_iovec(nullptr, IOV_MAX, list.raw, &rest, &vector_) == 0) {
            return false;
        }
        Term more{rest};
        Bytes bytes;
        while (is_cons(more) && is_binary(head(more)) && get_bytes(head(more), &bytes) && bytes.size == 0) {
            more = tail(more);
        }
        more_ = !is_nil(more);
        for (int i = 0; i < vector_->count; ++i) {
            size_ += vector_->iov[i].iov_len;
        }
        return !more_ || stream;
    }
    iovec* data() const { return vector_->iov; }
    size_t count() const { return static_cast<size_t>(vector_->count); }
    size_t size() const { return size_; }
    bool more() const { return more_; }

  private:
    IoVec* vector_ = nullptr;
    size_t size_ = 0;
    bool more_ = false;
};

// A message of socket:msg_send(), as sendmsg(2) wants it.
struct Message {
    SocketAddress to;
    Buffers buffers;
    std::vector<char> control;
    msghdr header{};

    // Null, or what is wrong with it.
    const char* take(Term map, Term iov, const Socket& s) {
        static const Term addr = atom("addr");
        static const Term ctrl = atom("ctrl");
        if (const Term t = map::get(map, addr); is_value(t)) {
            if (!get_address(t, &to)) {
                return "addr";
            }
            header.msg_name = to.get();
            header.msg_namelen = to.size;
        }
        if (!buffers.take(iov, s.is_stream())) {
            return "iov";
        }
        header.msg_iov = buffers.data();
        header.msg_iovlen = buffers.count();
        if (const Term t = map::get(map, ctrl); is_value(t)) {
            if (!get_control(t, &control, s.send_control_size)) {
                return "ctrl";
            }
            header.msg_control = control.data();
            header.msg_controllen = control.size();
        }
        return nullptr;
    }
};

}  // namespace

Word send_message(Env* env, int, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    int flags = 0;
    if (s == nullptr || !is_reference(Term{a[3]}) || !is_map(Term{a[1]})) {
        return raise_badarg(env);
    }
    if (!get_int(Term{a[2]}, &flags)) {
        return bad_integer(env, Term{a[2]});
    }
    const Call call{env, *s, Term{a[0]}, Term{a[3]}};
    const std::lock_guard lock(s->write_lock);
    Word result = 0;
    if (!may_write(call, &result)) {
        return result;
    }
    Message m;
    if (const char* const wrong = m.take(Term{a[1]}, Term{a[4]}, *s)) {
        return invalid(env, wrong);
    }
    ++s->out.tries;
    return sent(call, ::sendmsg(s->fd, &m.header, flags | MSG_NOSIGNAL), m.buffers.size(), m.buffers.more());
}

Word send_vector(Env* env, int, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr || !is_reference(Term{a[2]})) {
        return raise_badarg(env);
    }
    const Call call{env, *s, Term{a[0]}, Term{a[2]}};
    const std::lock_guard lock(s->write_lock);
    Word result = 0;
    if (!may_write(call, &result)) {
        return result;
    }
    Buffers buffers;
    if (!buffers.take(Term{a[1]}, s->is_stream())) {
        return invalid(env, "iov");
    }
    ++s->out.tries;
    msghdr header{};
    header.msg_iov = buffers.data();
    header.msg_iovlen = buffers.count();
    return sent(call, ::sendmsg(s->fd, &header, MSG_NOSIGNAL), buffers.size(), buffers.more());
}

// ---- sending files ----------------------------------------------------------------------------------------------

namespace {

void end_file(Socket& s) {
    ::close(s.file);
    s.file = -1;
}

Socket::SentFiles& sent_files(Socket& s) {
    if (s.files == nullptr) {
        s.files = std::make_unique<Socket::SentFiles>();
    }
    return *s.files;
}

Word file_failed(const Call& call, Term reason) {
    Socket& s = call.socket;
    ++sent_files(s).fails;
    if (s.writers.current != nullptr) {
        abort_line(call.env, s, call.ref, s.writers, reason, false);
    }
    return error(call.env, reason);
}

enum class Sent { all, part, failed };

// left 0: sends to the end of the file. *sent: the bytes that this call sent.
Sent send_part(Socket& s, off_t offset, size_t left, size_t* sent, int* why) {
    constexpr size_t kChunk = 0x20000000;
    Socket::SentFiles& f = sent_files(s);
    const bool to_the_end = left == 0;
    *sent = 0;
    for (;;) {
        const size_t chunk = !to_the_end && left < kChunk ? left : kChunk;
        const ssize_t n = ::sendfile(s.fd, s.file, &offset, chunk);
        *why = n < 0 ? errno : 0;
        ++f.calls;
        if (n > 0) {
            const auto bytes = static_cast<size_t>(n);
            *sent += bytes;
            ++f.packages;
            f.bytes += bytes;
            f.part += bytes;
            f.largest_package = std::max<uint64_t>(f.largest_package, *sent);
            f.largest = std::max(f.largest, f.part);
            if (!to_the_end && (left -= bytes) == 0) {
                return Sent::all;
            }
        } else if (n == 0) {
            return Sent::all;  // the end of the file
        } else if (would_block(*why)) {
            return Sent::part;
        } else if (*why != EINTR) {
            return Sent::failed;
        }
    }
}

Word go_on_with_file(const Call& call, off_t offset, size_t count) {
    Env* const env = call.env;
    Socket& s = call.socket;
    size_t bytes = 0;
    int why = 0;
    switch (send_part(s, offset, count, &bytes, &why)) {
        case Sent::failed:
            end_file(s);
            return file_failed(call, posix_error_atom(why));
        case Sent::all:
            end_file(s);
            write_is_done(call);
            return tagged(env, atoms::ok, make_unsigned(heap_of(env), bytes));
        case Sent::part:
            break;
    }
    become_current(s.writers.current, call);
    Word failed = 0;
    if (!wait_for(call, kSelectWrite, call.self(), &failed)) {
        end_file(s);
        abort_line(env, s, call.ref, s.writers, env->reason, false);
        return failed;
    }
    ++sent_files(s).waits;
    return tagged(env, kSelect, make_unsigned(heap_of(env), bytes));
}

Word begin_file(const Call& call, Term handle, off_t offset, size_t count) {
    Env* const env = call.env;
    Socket& s = call.socket;
    Word result = 0;
    if (!may_write(call, &result)) {
        return result;
    }
    if (s.file >= 0) {
        return wrong_state(env);
    }
    auto* const file = is_magic_ref(handle) ? dynamic_cast<FileHandle*>(magic_object(handle)) : nullptr;
    if (file == nullptr) {
        return file_failed(call, make_tuple(heap_of(env), atom("invalid"), atom("efile")));
    }
    s.file = file->duplicate();
    if (s.file < 0) {
        const int why = -s.file;
        s.file = -1;
        return file_failed(call, posix_error_atom(why));
    }
    ++sent_files(s).tries;
    sent_files(s).part = 0;
    return go_on_with_file(call, offset, count);
}

}  // namespace

// Dirty: reading the file may take long.
Word send_file(Env* env, int argc, const Word* a) {
    Socket* const s = socket_of(env, a[0]);
    if (s == nullptr) {
        return raise_badarg(env);
    }
    if (argc == 1) {  // the owner of the socket has ended, and the module asks to close the file
        const std::lock_guard lock(s->write_lock);
        if (s->file < 0) {
            return wrong_state(env);
        }
        end_file(*s);
        return atoms::ok.raw;
    }
    int64_t offset = 0;
    int64_t count = 0;
    if (!is_reference(Term{a[1]})) {
        return raise_badarg(env);
    }
    if (!get_int64(Term{a[2]}, &offset)) {
        return bad_integer(env, Term{a[2]});
    }
    if (!get_int64(Term{a[3]}, &count) || count < 0) {
        return bad_integer(env, Term{a[3]});
    }
    const Call call{env, *s, Term{a[0]}, Term{a[1]}};
    const std::lock_guard lock(s->write_lock);
    if (argc == 5) {
        return begin_file(call, Term{a[4]}, offset, static_cast<size_t>(count));
    }
    if (!s->writes_open()) {
        return closed(env);
    }
    if (s->connector != nullptr) {
        return wrong_state(env);
    }
    if (s->writers.current == nullptr || s->file < 0 || s->writers.current->pid != call.self()) {
        return raise_state(env);
    }
    return go_on_with_file(call, offset, static_cast<size_t>(count));
}

Word send_messages(Env* env, int, const Word* a) {
    static const Term iov = atom("iov");
    Socket* const s = socket_of(env, a[0]);
    int flags = 0;
    if (s == nullptr || !is_reference(Term{a[3]})) {
        return raise_badarg(env);
    }
    if (!get_int(Term{a[2]}, &flags)) {
        return bad_integer(env, Term{a[2]});
    }
    const Call call{env, *s, Term{a[0]}, Term{a[3]}};
    const std::lock_guard lock(s->write_lock);
    Word result = 0;
    if (!may_write(call, &result)) {
        return result;
    }
    std::vector<std::unique_ptr<Message>> messages;
    std::vector<mmsghdr> headers;
    for (Term t{a[1]}; is_cons(t); t = tail(t)) {
        const Term buffers = is_map(head(t)) ? map::get(head(t), iov) : kNonValue;
        if (!is_value(buffers)) {
            return raise_badarg(env);
        }
        messages.push_back(std::make_unique<Message>());
        if (const char* const wrong = messages.back()->take(head(t), buffers, *s)) {
            return std::strcmp(wrong, "iov") == 0 ? raise_badarg(env) : invalid(env, wrong);
        }
        headers.push_back({messages.back()->header, 0});
    }
    ++s->out.tries;
    size_t done = 0;
    while (done < headers.size()) {
        const auto count = static_cast<unsigned>(std::min(headers.size() - done, kMostMessages));
        const int n = ::sendmmsg(s->fd, &headers[done], count, flags | MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && done == 0) {
            return would_block(errno) ? write_rest_later(call, -1) : write_failed(call, errno);
        }
        if (n <= 0) {
            break;  // the answer says that the other messages were not sent
        }
        done += static_cast<size_t>(n);
    }
    // {Index, Bytes} of each message that was not sent as a whole; the module works out what is left of it.
    Term rest = kNil;
    for (size_t i = headers.size(); i-- > 0;) {
        const size_t bytes = i < done ? headers[i].msg_len : 0;
        if (i < done) {
            s->out.bytes += bytes;
            count_written(*s, bytes, true);
        }
        if (bytes != messages[i]->buffers.size() || i >= done) {
            rest = cons(heap_of(env),
                        make_tuple(heap_of(env), make_small(static_cast<int64_t>(i)), make_small(static_cast<int64_t>(bytes))),
                        rest);
        }
    }
    write_is_done(call);
    return is_nil(rest) ? atoms::ok.raw : ok(env, rest);
}

}  // namespace minivm::nif::sockets
