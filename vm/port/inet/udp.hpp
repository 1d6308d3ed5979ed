// The driver udp_inet: datagrams, of UDP and of local sockets.
#pragma once

#include "vm/port/inet/socket.hpp"

namespace minivm::port::inet {

class UdpSocket final : public Socket {
public:
    UdpSocket() : Socket(SOCK_DGRAM) {}

    Term output(Port& p, Term from, std::string* bytes) override;
    Term ready(Port& p, uint32_t events) override;
    Term timeout(Port& p) override;
    void close(Port& p) override;

protected:
    bool own_request(uint32_t request, Request& r) override;
    Term options_set(Port& p, const Before& was) override;
    bool set_own_option(Port& p, uint8_t option, int32_t value) override;
    bool get_own_option(uint8_t option, int32_t* value) const override;
    Term passive_tag() const override;

private:
    struct Waiting {
        Term pid;
        uint16_t number;
        uint64_t due_ms;  // 0: no timeout
    };
    void connect(Request& r);
    void receive(Request& r);
    void answer_error(Port& p, Term reason);
    void read(Port& p);
    void give(Port& p, const Address& from, const msghdr& message, const uint8_t* data, size_t n);
    // Sends a datagram. Result: an errno, or 0.
    int send(const Address& to, Reader ancillary, const char* data, size_t n);

    std::optional<Waiting> receiver_;
    int read_packets_ = 5;
    std::optional<Address> peer_;
};

}  // namespace minivm::port::inet
