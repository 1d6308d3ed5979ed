// The driver `trace_ip_drv`: OTP's dbg sends traces over the network with it. A TCP server with one client at a time.
//
// A message is a byte 0, the size in four bytes, and a term in the external format; or a byte 1 and, in four bytes, the
// number of terms that were dropped because the queue was full.
// Threads: the one that holds the port's lock.
#pragma once

#include "vm/port/driver.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace minivm::port {

class TraceIp final : public Driver {
public:
    // trace_ip_drv PORT QUEUE FLAGS: QUEUE messages may wait, with FLAGS 2 also without a client. Null: errno tells.
    static std::unique_ptr<TraceIp> open(const std::string& command);
    static bool is_command(const std::string& command);
    ~TraceIp() override;

    int opened(Port& p) override;
    // Queues and sends a term in the external format; has no answer.
    Term output(Port& p, Term from, std::string* bytes) override;
    // The command $p: the number of the TCP port.
    bool control(Port& p, Process& caller, uint32_t command, const std::string& bytes, std::string* answer,
                 Term* reason) override;
    bool answers_binaries() const override { return true; }
    Term ready(Port& p, uint32_t events) override;
    Term timeout(Port& p) override;
    void close(Port& p) override;

private:
    struct Message {
        std::string bytes;
        size_t sent = 0;
        uint32_t left_out = 0;  // not 0: the message tells this number of dropped terms
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
    bool keeps_ = false;  // messages wait also while there is no client
    std::deque<Message> queue_;
};

}  // namespace minivm::port
