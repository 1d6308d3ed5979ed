// Ports: programs and files that take part as if they were processes.
//
// A port has no turn of its own. Whoever has something for it (a process, the poller's thread)
// takes its lock and does it at once; everything is short, and no file operation blocks. So what
// one process asks of a port happens in the order asked, and what a port sends arrives in the order
// in which it came.
//
// Invariants
//   (1) Messages that data causes are sent under the lock. Nothing is sent under the lock that
//   could be
//       answered at once: links and everything an ending causes go out after it is given up.
//   (2) A port is in the table exactly as long as it is open or draining; end() takes it out before
//       anybody is told.
//   (3) Ports are told apart by numbers that are never used again.
// Threads: any.
#pragma once

#include "vm/port/framing.hpp"
#include "vm/port/poller.hpp"
#include "vm/process/extra.hpp"
#include "vm/process/process.hpp"
#include "vm/process/tracing.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace minivm {
struct Signal;
}

namespace minivm::port {

struct Port;

class RamFile;
class TraceFile;

struct OpenOptions {
    std::string name;
    Framing framing;
    bool binary = false;  // data goes to the owner as binaries; else as lists
    bool eof = false;     // the end of the input is told, and does not end the port
    bool exit_status = false;
    bool parallelism = false;
    size_t busy_above = 8192;  // bytes that wait to be written; 0: never busy
    size_t free_below = 4096;
    // Input rests after each read that gave something, until resume_input(): a peer that sends more
    // than its owner takes fills its own pipe, not our memory.
    bool one_read = false;
    size_t longest_packet = 0;  // bytes; what is longer ends the port; 0: no limit
    // The files, and whether they are ours to close and do not block.
    int from = -1;
    int to = -1;
    bool own_files = true;
    int pid = 0;
    // The program could not be loaded: this is what it ended with.
    int start_error = 0;
    // Instead of files.
    std::shared_ptr<TraceFile> trace_file;
    std::shared_ptr<RamFile> ram_file;
};

// A new port that belongs to `owner` and is linked to it. The non-value: errno tells (0: too many
// ports); the files are closed then.
Term open(Process& owner, OpenOptions options);

bool exists(Term id);
std::vector<Term> all();
uint32_t count();

// ---- what processes do; the result of each is said as OTP's erts_internal functions say it ------

enum class Sent : uint8_t { done, busy, no_port };
// Takes the bytes over. busy: nothing was taken; the process has been noted and will be woken. from: whose
// command it is, to be traced; the non-value: it is not.
Sent command(Term id, std::string* bytes, bool even_if_busy, Term wake, Term from);
// A message that was sent to the port; busy as above. sender null: nobody would wait.
Sent message(Process* sender, Term id, Term message, bool even_if_busy = false);
// A trace for a port that is a tracer, in the external format. False: there is no such port.
bool trace(Term id, Term message);
// port_control(Port, $f, []): false: the port has nothing of the kind.
bool flush_traces(Term id);
// Reports, as OTP's emulator does, what was to be written and is no bytes.
void report_bad_value(Term id);
bool is_busy(Term id);
// Wakes the process as soon as the port is not busy.
void wait_until_free(Term id, Term wake);
// trap_wait() of a process that a port will wake; the function it goes on with says when it has
// waited.
Term wait(Process& p, Term id, const Export* again, std::initializer_list<Term> args);
inline void waited(Process& p) {
    if (p.extra != nullptr) {
        p.extra->waits_for_port = false;
    }
}
bool close(Term id, Term from);
enum class Asked : uint8_t { by_function, by_message };
bool connect(Term id, Term owner, Term from, Asked how);
// What `from` asks the port's driver, to be traced.
void asked(Term id, Term from, Term what);
// For ports that read once (OpenOptions::one_read).
bool resume_input(Term id);
bool set_data(Term id, Term data);
// The non-value: no port.
Term get_data(Term id, Heap& h);

// What port_info tells.
struct Info {
    std::string name;
    std::vector<Term> links;
    std::vector<Term> monitored_by;
    Term connected = kNonValue;
    uint64_t input = 0;
    uint64_t output = 0;
    size_t queued = 0;
    int pid = 0;
    bool parallelism = false;
};
bool info(Term id, Info* out);

// Links, monitors, exits. Takes the signal over.
void signal(Term id, Signal* s);

// What is traced of it; null: no port.
std::shared_ptr<tracing::TracedPort> traced(Term id);
// It got the name, or lost it.
void trace_name(Term id, Term tag, Term name);

// ---- registered names: called by the registry, under its lock -----------------------------------

// False: no port, or it has a name.
bool set_registered_name(Term id, Term name);
void clear_registered_name(Term id);
Term registered_name(Term id);

// ---- called by the poller -----------------------------------------------------------------------

void ready(uint32_t number, Ready what);
void child_ended(uint32_t number, int status);

// Bytes through all ports so far.
uint64_t total_input();
uint64_t total_output();

// Writes what still waits, and ends the poller's thread. When the machine stops.
void flush_all();
void destroy();

}  // namespace minivm::port
