// What OTP's dbg sends traces to over the network: the driver `trace_ip_drv`, a TCP server with one client at a time.
//
// What goes out: a byte 0, the size in four bytes, and a term in the external format; or a byte 1, and how many terms were left
// out because the queue was full.
// Threads: whoever holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace minivm::port {

class TraceIp final : public Driver {
public:
    // trace_ip_drv PORT QUEUE FLAGS: messages that may wait; 2: also while there is no client. Null: errno tells.
    static std::unique_ptr<TraceIp> open(const std::string& command);
    static bool is_command(const std::string& command);
    ~TraceIp() override;

    int opened(Port& p) override;
    // A term, without an answer.
    Term output(Port& p, Term from, std::string* bytes) override;
    // The command $p: the number of the TCP port.
    bool control(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer,
                 Term* reason) override;
    bool answers_binaries() const override { return true; }
    Term ready(Port& p, uint32_t events) override;
    void close(Port& p) override;

private:
    struct Message {
        std::string bytes;
        size_t sent = 0;
        uint32_t left_out = 0;  // not 0: it says so
    };
    TraceIp() = default;
    void accept_clients(Port& p);
    void look_at_client();
    void close_client();
    void enqueue(const std::string& term);
    void send_queue();

    int listener_ = -1;
    int client_ = -1;
    uint16_t number_ = 0;
    size_t most_ = 0;
    bool keeps_ = false;  // without a client
    std::deque<Message> queue_;
};

}  // namespace minivm::port
