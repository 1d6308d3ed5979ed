// The common part of the drivers tcp_inet and udp_inet: a socket, its options, its statistics, and the answers to
// the processes that wait for it.
//
// An operation first tries the system call. When one would block for the first time, the socket enters the poller's
// set and stays there until it is closed. The poller reports changes only (EPOLLET); readable_ keeps a report that
// comes while nobody wants to read. A socket that is readable when it enters the set is reported, so no report is
// missed.
//
// Threads: the one that holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"
#include "vm/port/inet/address.hpp"
#include "vm/port/inet/protocol.hpp"
#include "vm/semantics/packets.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace minivm::port::inet {

class Socket : public Driver {
public:
    ~Socket() override;
    bool takes_force() const final { return true; }
    bool control(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer,
                 Term* reason) override;
    void close(Port& p) override;

protected:
    explicit Socket(int type);

    enum class State : uint8_t { closed, open, connecting, connected, listening };

    // A request to control().
    struct Request {
        Port& port;
        Process& caller;
        Reader in;
        std::string* out;  // the answer
        Term* reason;      // why the port must end

        void ok() const { out->assign(1, kOk); }
        void error(const char* name) const { (out->assign(1, kError)) += name; }
        void error(int number) const;
    };
    // Executes a request that only this kind of socket has. False: it has no such request.
    virtual bool own_request(uint32_t request, Request& r) = 0;
    // The state before options were set.
    struct Before {
        Activity active;
        packets::Format format;
    };
    // Called after options were set: an active socket reads. The reason why the port must end, or the non-value.
    virtual Term options_set(Port& p, const Before& was) = 0;
    virtual bool set_own_option(Port&, uint8_t /*option*/, int32_t /*value*/) { return false; }
    virtual bool get_own_option(uint8_t /*option*/, int32_t* /*value*/) const { return false; }
    // The tag of the message that {active, N} has counted down to 0.
    virtual Term passive_tag() const = 0;
    virtual uint32_t own_status() { return 0; }
    // A program makes a closed socket active. The reason why the port must end, or the non-value.
    virtual Term activated_when_closed(Port&) { return kNonValue; }

    // ---- socket.cpp
    bool is_open() const { return state_ != State::closed; }
    bool is_connected() const { return state_ == State::connected; }
    void set_up(int fd);  // takes an open socket
    // Adds the socket to the poller's set. False: errno tells.
    bool watch(Port& p);
    void shut();  // closes the socket
    // The end reason of a port whose owner got {tcp_closed, Socket}, and gets no exit signal.
    static Term end_by_peer(Port& p);
    void want_output(Port& p, bool wanted);
    void wake_at(Port& p, uint64_t due_ms);
    // Counts a sent message for {active, once} and {active, N}.
    void count_message(Port& p);
    void count_input(size_t n);
    void count_output(size_t n);
    // The next number for {inet_async, Socket, Number, Result}.
    uint16_t next_number() { return number_++; }
    void send_async(Port& p, Term to, uint16_t number, Term result);
    // Sends {inet_reply, Socket, Result}, and the request's reference if it is a value.
    static void reply(Port& p, Term to, Term result, Term reference);
    // The reference that OTP 26 and later put before the bytes to send, for the reply; *first: where the bytes begin.
    static Term take_reference(Heap& h, const std::string& bytes, size_t* first);
    // The bytes as a list or a binary, as the options mode and {header, N} say.
    Term data_term(Heap& h, const void* bytes, size_t n) const;

    // ---- options.cpp
    bool set_options(Port& p, Reader in, Term* reason);
    bool get_options(Reader in, std::string* out) const;
    bool system_option(uint8_t option, int* level, int* name, bool* told) const;
    std::optional<std::string> packet_options() const;  // none: the kernel does not support them

    int fd_ = -1;
    State state_ = State::closed;
    const int type_;  // SOCK_STREAM, SOCK_DGRAM
    int family_ = 0;  // AF_INET, AF_INET6, AF_UNIX
    bool watched_ = false;
    bool wants_output_ = false;
    bool readable_ = false;   // there may be something to read; else the poller will report it
    bool ignored_ = false;    // somebody else reads and writes the socket (kIgnore)
    bool exit_on_close_ = true;
    bool binary_ = false;
    bool deliver_term_ = true;
    bool buffer_set_ = false;
    bool debug_ = false;
    Activity active_ = kPassive;
    int32_t active_count_ = 0;
    packets::Format format_ = packets::Format::raw;
    uint32_t format_code_ = 0;
    packets::Limits limits_;
    struct QueueLimits {
        int32_t low = 4096;
        int32_t high = 8192;
    };
    QueueLimits queue_limits_;  // low_msgq_watermark, high_msgq_watermark
    uint32_t header_ = 0;
    uint32_t buffer_;
    uint32_t ancillary_ = 0;  // which ancillary data each packet has: ancillary_bit() of options.cpp
    std::optional<std::string> namespace_;
    std::optional<Address> shown_name_;
    std::optional<Address> shown_peer_;
    std::vector<Term> wait_for_empty_;  // processes that get {empty_out_q, Socket}
    uint64_t armed_ms_ = 0;  // when the poller calls timeout(); 0: not set
    uint16_t number_ = 0;

    uint64_t received_bytes_ = 0;
    uint64_t sent_bytes_ = 0;
    uint32_t received_count_ = 0;
    uint32_t sent_count_ = 0;
    uint32_t received_max_ = 0;
    uint32_t sent_max_ = 0;
    double received_average_ = 0;
    double received_deviation_ = 0;
    double sent_average_ = 0;

private:
    bool common_request(uint32_t request, Request& r);
    void open(Request& r);
    void open_descriptor(Request& r);
    void bind(Request& r);
    void statistics(Request& r) const;
    void subscribe(Request& r);
    void name(Request& r, bool peer) const;
    void set_shown(Request& r, std::optional<Address>* shown) const;
};

// ---- interfaces.cpp: requests that do not concern the socket itself
void get_service_by_name(Reader in, std::string* out);
void get_service_by_port(Reader in, std::string* out);
int get_interfaces(std::string* out);  // an errno, or 0
int get_addresses(std::string* out);
void get_interface(int fd, Reader in, std::string* out);
int set_interface(int fd, Reader in);

// The ancillary data of recvmsg() as a term: [{tos, 1}, ...].
Term ancillary_terms(Heap& h, const msghdr& message);

}  // namespace minivm::port::inet
