// Receiving: bytes and messages.
#include "vm/nif/sockets/socket.hpp"

#include "vm/process/posix.hpp"
#include "vm/term/binary.hpp"
#include "vm/util/otp_release.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace minivm::nif::sockets {

// ---- receiving --------------------------------------------------------------------------------------------------

namespace {

// One read fills no more than this: a caller that asks for more gets it in parts, whose cost depends on the bytes
// there are and not on the bytes asked for.
constexpr size_t kLargestRead = size_t{16} << 20;

bool at_once(const Call& call) { return call.handle == kZero; }

// False: the caller must not read, and *result is the answer.
bool may_read(const Call& call, Word* result) {
    Socket& s = call.socket;
    if (!s.reads_open()) {
        *result = closed(call.env);
        return false;
    }
    if (s.acceptors.current != nullptr) {
        *result = wrong_state(call.env);
        return false;
    }
    if (s.readers.current == nullptr || s.readers.current->pid == call.self()) {
        return true;
    }
    if (stands_in(s.readers, call.self())) {
        *result = raise_state(call.env);
    } else if (at_once(call)) {
        *result = kTimeout.raw;
    } else {
        stand_in(s.readers, call);
        *result = kSelect.raw;
    }
    return false;
}

void read_is_done(const Call& call) {
    Socket& s = call.socket;
    if (s.readers.current != nullptr) {
        next_in_line(call.env, s, call.ref, s.readers, kSelectRead);
    }
}

Word wait_to_read(const Call& call, Word answer) {
    Word failed = 0;
    if (!wait_for(call, kSelectRead, call.self(), &failed)) {
        read_is_done(call);
        return failed;
    }
    become_current(call.socket.readers.current, call);
    return answer;
}

// n: what recv(2) returned: an error or the end of the stream.
Word nothing_read(const Call& call, ssize_t n, int why) {
    Env* const env = call.env;
    Socket& s = call.socket;
    s.buffers_read = 0;
    if (n < 0 && would_block(why)) {
        if (at_once(call)) {
            read_is_done(call);
            // OTP 25 answers `ok` to a caller that does not wait.
            return otp_release().number <= 25 ? atoms::ok.raw : kTimeout.raw;
        }
        return wait_to_read(call, kSelect.raw);
    }
    const Term reason = n == 0 ? atom("closed") : posix_error_atom(why);
    ++s.in.fails;
    if (s.readers.current != nullptr) {
        abort_line(env, s, call.ref, s.readers, reason, false);
    }
    return error(env, reason);
}

void count_read(Socket& s, size_t bytes, bool complete) {
    s.in.bytes += bytes;
    s.in.part += bytes;
    s.in.largest = std::max(s.in.largest, s.in.part);
    if (complete) {
        ++s.in.packages;
        s.in.part = 0;
    }
}

// All that was asked for is there.
Word read_complete(const Call& call, Term value) {
    static const Term select_read = atom("select_read");
    if (call.socket.select_read && !at_once(call)) {
        return wait_to_read(call, tagged(call.env, select_read, value));
    }
    read_is_done(call);
    return ok(call.env, value);
}

// asked 0: the caller takes whatever there is. filled: more may be there already.
Word bytes_read(const Call& call, Term data, size_t size, size_t asked, bool filled) {
    static const Term more = atom("more");
    Env* const env = call.env;
    Socket& s = call.socket;
    if (filled && asked == 0 && s.is_stream()) {
        if (++s.buffers_read < s.buffer_count) {
            count_read(s, size, false);
            become_current(s.readers.current, call);
            return tagged(env, more, data);
        }
    }
    s.buffers_read = 0;
    if (filled || asked == 0 || !s.is_stream()) {
        count_read(s, size, true);
        return read_complete(call, data);
    }
    // Less than was asked for.
    if (at_once(call)) {
        count_read(s, size, true);
        read_is_done(call);
        return otp_release().number <= 25 ? ok(env, data) : tagged(env, kTimeout, data);
    }
    count_read(s, size, false);
    s.in.part = 0;
    return wait_to_read(call, tagged(env, kSelect, data));
}

// A buffer to read into: the usual sizes are on the stack, so that a small message costs only its own bytes.
class Room {
  public:
    // With MSG_TRUNC the system discards bytes of a stream, says how many, and writes nothing here.
    Room(size_t size, int flags) : size_(std::min(size, kLargestRead)) {
        if (size_ > sizeof small_) {
            large_ = RefBinary::create(size_);
        }
        if ((flags & MSG_TRUNC) != 0) {
            std::memset(data(), 0, size_);
        }
    }
    ~Room() {
        if (large_ != nullptr) {
            large_->release();
        }
    }
    Room(const Room&) = delete;
    Room& operator=(const Room&) = delete;
    uint8_t* data() { return large_ != nullptr ? large_->data() : small_; }
    size_t size() const { return size_; }
    // The bytes here of a datagram of that length: the system tells its full length even if it was cut (MSG_TRUNC).
    size_t filled(size_t length) const { return std::min(length, size_); }
    // A binary of the first `used` bytes; the buffer must not be used any more.
    Term term(Heap& h, size_t used) {
        used = filled(used);
        // No copy if most of the buffer is used; else the binary would keep too much memory.
        if (large_ != nullptr && used >= size_ / 2 + size_ / 4) {
            RefBinary* const b = RefBinary::reallocate(std::exchange(large_, nullptr), used);
            return wrap_ref_binary(h, b, uint64_t{used} * 8);
        }
        return make_binary(h, data(), used);
    }

  private:
    size_t size_;
    RefBinary* large_ = nullptr;
    uint8_t small_[16 * 1024];
};

// Reads socket, sizes, flags and handle. False: *result is the answer.
bool receive_arguments(Env* env, Word socket, std::initializer_list<std::pair<Word, size_t*>> sizes, Word flags,
                       Word handle, Socket** s, int* flag_bits, Word* result) {
    *s = socket_of(env, socket);
    if (*s == nullptr || (!is_reference(Term{handle}) && Term{handle} != kZero)) {
        *result = raise_badarg(env);
        return false;
    }
    for (const auto& [t, size] : sizes) {
        int64_t value = 0;
        if (!get_int64(Term{t}, &value) || value < 0) {
            *result = bad_integer(env, Term{t});
            return false;
        }
        *size = static_cast<size_t>(value);
    }
    if (!get_int(Term{flags}, flag_bits)) {
        *result = bad_integer(env, Term{flags});
        return false;
    }
    return true;
}

}  // namespace

Word receive(Env* env, int, const Word* a) {
    Socket* s = nullptr;
    size_t asked = 0;
    int flags = 0;
    Word result = 0;
    if (!receive_arguments(env, a[0], {{a[1], &asked}}, a[2], a[3], &s, &flags, &result)) {
        return result;
    }
    const Call call{env, *s, Term{a[0]}, Term{a[3]}};
    const std::lock_guard lock(s->read_lock);
    if (!may_read(call, &result)) {
        return result;
    }
    Room room(asked != 0 ? asked : s->buffer_size, flags);
    ++s->in.tries;
    const ssize_t n = ::recv(s->fd, room.data(), room.size(), flags);
    if (n < 0 || (n == 0 && s->is_stream())) {
        return nothing_read(call, n, errno);
    }
    const size_t size = room.filled(static_cast<size_t>(n));
    return bytes_read(call, room.term(heap_of(env), size), size, asked,
                      size == (asked != 0 ? asked : room.size()));
}

Word receive_from(Env* env, int, const Word* a) {
    Socket* s = nullptr;
    size_t asked = 0;
    int flags = 0;
    Word result = 0;
    if (!receive_arguments(env, a[0], {{a[1], &asked}}, a[2], a[3], &s, &flags, &result)) {
        return result;
    }
    const Call call{env, *s, Term{a[0]}, Term{a[3]}};
    const std::lock_guard lock(s->read_lock);
    if (!may_read(call, &result)) {
        return result;
    }
    Room room(asked != 0 ? asked : s->buffer_size, flags);
    SocketAddress from;
    ++s->in.tries;
    const ssize_t n = ::recvfrom(s->fd, room.data(), room.size(), flags, from.get(), from.room());
    if (n < 0 || (n == 0 && s->is_stream())) {
        return nothing_read(call, n, errno);
    }
    s->buffers_read = 0;
    count_read(*s, room.filled(static_cast<size_t>(n)), true);
    const Term data = room.term(heap_of(env), static_cast<size_t>(n));
    return read_complete(call, make_tuple(heap_of(env), address_term(env, from), data));
}

namespace {

// One message with room for it.
struct Incoming {
    Incoming(size_t size, size_t control_size, int flags) : room(size, flags), control(control_size) {}
    Room room;
    std::vector<char> control;
    SocketAddress from;
    iovec vector{};
    void describe(msghdr* h) {
        vector = {room.data(), room.size()};
        *h = {};
        h->msg_name = &from.storage;
        h->msg_namelen = sizeof from.storage;
        h->msg_iov = &vector;
        h->msg_iovlen = 1;
        h->msg_control = control.data();
        h->msg_controllen = control.size();
    }
    // A message of socket:msg_recv().
    Term term(Env* env, const msghdr& h, size_t size) {
        static const Term names[] = {atom("iov"), atom("ctrl"), atom("flags"), atom("addr")};
        Heap& heap = heap_of(env);
        const Term flags = flags_term(env, message_flags(), h.msg_flags);
        const Term parts = control_terms(env, h.msg_control, h.msg_controllen);
        const Term data = cons(heap, room.term(heap, size), kNil);
        Term keys[4] = {names[0], names[1], names[2], names[3]};
        Term values[4] = {data, parts, flags, kNil};
        if (h.msg_namelen != 0) {
            values[3] = address_term(env, from.get(), h.msg_namelen);
        }
        return map::from_pairs(heap, keys, values, h.msg_namelen != 0 ? 4 : 3);
    }
};

// The most room for control messages: more than the system ever writes.
constexpr size_t kLargestControl = size_t{1} << 20;

}  // namespace

Word receive_message(Env* env, int, const Word* a) {
    Socket* s = nullptr;
    size_t asked = 0;
    size_t control_size = 0;
    int flags = 0;
    Word result = 0;
    if (!receive_arguments(env, a[0], {{a[1], &asked}, {a[2], &control_size}}, a[3], a[4], &s, &flags, &result)) {
        return result;
    }
    const Call call{env, *s, Term{a[0]}, Term{a[4]}};
    const std::lock_guard lock(s->read_lock);
    if (!may_read(call, &result)) {
        return result;
    }
    Incoming in(asked != 0 ? asked : s->buffer_size,
                std::min(control_size != 0 ? control_size : s->control_size, kLargestControl), flags);
    msghdr header;
    in.describe(&header);
    ++s->in.tries;
    // Programs that the VM starts must not inherit descriptors that come with the message.
    const ssize_t n = ::recvmsg(s->fd, &header, flags | MSG_CMSG_CLOEXEC);
    if (n < 0 || (n == 0 && s->is_stream())) {
        return nothing_read(call, n, errno);
    }
    header.msg_flags &= ~MSG_CMSG_CLOEXEC | (flags & MSG_CMSG_CLOEXEC);
    s->buffers_read = 0;
    count_read(*s, in.room.filled(static_cast<size_t>(n)), true);
    return read_complete(call, in.term(env, header, static_cast<size_t>(n)));
}

// ---- several messages in one call -------------------------------------------------------------------------------

Word receive_messages(Env* env, int, const Word* a) {
    Socket* s = nullptr;
    size_t count = 0;
    size_t asked = 0;
    size_t control_size = 0;
    int flags = 0;
    Word result = 0;
    if (!receive_arguments(env, a[0], {{a[1], &count}, {a[2], &asked}, {a[3], &control_size}}, a[4], a[5], &s, &flags,
                           &result)) {
        return result;
    }
    const Call call{env, *s, Term{a[0]}, Term{a[5]}};
    const std::lock_guard lock(s->read_lock);
    if (!may_read(call, &result)) {
        return result;
    }
    count = std::clamp<size_t>(count, 1, kMostMessages);
    std::vector<std::unique_ptr<Incoming>> in;
    std::vector<mmsghdr> headers(count);
    for (size_t i = 0; i < count; ++i) {
        in.push_back(std::make_unique<Incoming>(
            std::min(asked != 0 ? asked : s->buffer_size, size_t{1} << 16),
            std::min(control_size != 0 ? control_size : s->control_size, size_t{1} << 16), flags));
        in[i]->describe(&headers[i].msg_hdr);
    }
    ++s->in.tries;
    const int n = ::recvmmsg(s->fd, headers.data(), static_cast<unsigned>(count), flags | MSG_CMSG_CLOEXEC, nullptr);
    if (n < 0) {
        return nothing_read(call, n, errno);
    }
    // At the end of a stream the messages are empty, as on erl.
    s->buffers_read = 0;
    Term list = kNil;
    for (int i = n; i-- > 0;) {
        const auto at = static_cast<size_t>(i);
        headers[at].msg_hdr.msg_flags &= ~MSG_CMSG_CLOEXEC;
        count_read(*s, in[at]->room.filled(headers[at].msg_len), true);
        list = cons(heap_of(env), in[at]->term(env, headers[at].msg_hdr, headers[at].msg_len), list);
    }
    return read_complete(call, list);
}

}  // namespace minivm::nif::sockets
