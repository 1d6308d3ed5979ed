// The driver tcp_inet: streams, of TCP and of local sockets.
//
// Reading: in_ contains the input that was not given yet. A packet is given when a process waits for it (recv) or the
// socket is active. Writing: output() tries the system call at once and puts the rest into queue_; the port is busy
// from high_ bytes on, until no more than low_ are left.
#pragma once

#include "vm/port/inet/socket.hpp"

#include <list>
#include <memory>

namespace minivm::port::inet {

class TcpSocket final : public Socket {
public:
    TcpSocket() : Socket(SOCK_STREAM) {}
    ~TcpSocket() override;

    Term output(Port& p, Term from, std::string* bytes) override;
    bool divert(size_t busy_above) override;
    Term send_packets(Port& p, std::deque<std::string>* packets) override;
    Term ready(Port& p, uint32_t events) override;
    Term timeout(Port& p) override;
    void closing(Port& p) override;
    size_t unsent() const override { return queued_ + (file_ != nullptr ? 1 : 0); }
    void close(Port& p) override;
    void write_out(Port& p) override;

protected:
    bool own_request(uint32_t request, Request& r) override;
    Term options_set(Port& p, const Before& was) override;
    bool set_own_option(Port& p, uint8_t option, int32_t value) override;
    bool get_own_option(uint8_t option, int32_t* value) const override;
    Term passive_tag() const override;
    uint32_t own_status() override;
    Term activated_when_closed(Port& p) override;

private:
    static constexpr uint32_t kForever = 0xFFFFFFFF;
    static constexpr size_t kLongestReceive = 64 * 1024 * 1024;
    // A process that waits for {inet_async, Socket, number, Result}.
    struct Waiting {
        Term pid = kNonValue;
        uint16_t number = 0;
        uint64_t due_ms = 0;  // 0: no timeout
    };
    struct File {
        ~File();
        int fd;
        int64_t at;
        int64_t left;
        int64_t sent;
        size_t before;  // bytes of the queue to write before the file
        Term pid;
    };

    Waiting waiting(Request& r, uint32_t timeout_ms);
    void answer(Port& p, const std::optional<Waiting>& w, Term result);
    void answer_error(Port& p, const std::optional<Waiting>& w, Term reason);
    void answer_all(Port& p, Term reason);

    void connect(Request& r);
    void connect_done(Port& p);
    void listen(Request& r);
    void accept(Request& r);
    void forget_dead_acceptors();  // the driver gets no signal when an acceptor ends
    void accept_ready(Port& p, Process* self);
    bool give_accepted(Port& p, int fd, const Waiting& to, Process* self);
    void receive(Request& r);
    void put_back(Request& r);
    void shut_down(Request& r);
    void send_file(Request& r);
    void ignore(Request& r);

    // ---- reading; a result of type Term is the reason why the port must end, or the non-value
    bool wants_input() const;
    Term read(Port& p);
    // Gives the next packet of in_. *more, if there is none: how many bytes at least it lacks.
    Term give(Port& p, bool* given, size_t* more);
    void give_term(Port& p, Term content, bool is_packet, Heap& h);
    void give_data(Port& p, const void* bytes, size_t n);
    Term peer_closed(Port& p);
    Term read_failed(Port& p, int error);
    void tell_closed(Port& p, int error);  // sends {tcp_error, ...} if error is not 0, and {tcp_closed, ...}
    packets::Format format_now() const;
    void drop_input();

    // ---- writing
    void enqueue(std::string bytes, size_t first);
    Term write(Port& p);
    bool write_queue(size_t limit, int* error);  // at most so many bytes; false: *error, also EAGAIN
    bool write_file(Port& p, int* error);
    Term write_failed(Port& p, int error, Term caller, Term reference);
    void not_busy(Port& p, Term result);  // the process that was suspended in send gets the result
    void not_busy_error(Port& p, Term reason);
    void drop_output(Port& p);
    void file_is_done(Port& p, Term result);  // {ok, Low, High} or an error, to the process that called sendfile
    void written(Port& p);
    void tell_empty(Port& p);

    std::string in_;
    size_t in_at_ = 0;
    bool in_headers_ = false;  // HTTP: the first line was given, header lines follow
    bool hung_up_ = false;     // read() will find the end of the stream, or an error
    bool end_told_ = false;    // the owner of the active socket was told of the end
    std::optional<Waiting> receiver_;
    size_t receive_size_ = 0;  // bytes that the receiver wants; 0: whatever comes
    std::optional<Waiting> connector_;
    std::vector<Waiting> acceptors_;

    std::list<std::string> queue_;
    size_t queue_offset_ = 0;  // bytes of the first string that are written
    size_t queued_ = 0;
    std::unique_ptr<File> file_;
    size_t high_ = 8192;
    size_t low_ = 4096;
    int32_t send_timeout_ = -1;
    bool send_timeout_close_ = false;
    bool delay_send_ = false;
    bool show_reset_ = false;
    bool read_ahead_ = true;  // has no effect; getopts shows it
    bool linger_zero_ = false;
    bool busy_ = false;
    Term busy_caller_ = kNonValue;
    Heap busy_heap_;
    Term busy_reference_ = kNonValue;
    uint64_t busy_due_ms_ = 0;
    int shut_later_ = -1;  // SHUT_WR, SHUT_RDWR: shut down when the queue is empty
    bool closed_for_receive_ = false;  // the next recv gets `closed`, not `enotconn`; below: the next send
    bool closed_for_send_ = false;
    bool was_reset_ = false;
};

}  // namespace minivm::port::inet
