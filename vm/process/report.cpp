// The report of a process that ended by an uncaught error.
#include "vm/process/exception.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/signal.hpp"
#include "vm/record/record.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"

#include <chrono>

namespace minivm {

namespace {

// The raw word of the atom logger, the atom undefined or a local pid; 0: logger.
std::atomic<Word> g_system_logger{0};

Term atom(const char* text) {
    return atom_table::intern(text);
}

// What the VM tells of an event: #{error_logger, gl, pid, time}.
Term event_metadata(Heap& h, Process& p) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    Term logger_keys[2] = {atom("emulator"), atom("tag")};
    Term logger_values[2] = {atoms::true_, atoms::error};
    Term keys[4] = {atom("error_logger"), atom("gl"), atom("pid"), atom("time")};
    Term values[4] = {
        map::from_pairs(h, logger_keys, logger_values, 2), p.group_leader, p.id,
        make_integer(h, std::chrono::duration_cast<std::chrono::microseconds>(now).count())};
    return map::from_pairs(h, keys, values, 4);
}

}  // namespace

Term system_logger() {
    // relaxed: a name or pid alone; see set_system_logger().
    const Term to{g_system_logger.load(std::memory_order_relaxed)};
    if (to.raw == 0 || (is_local_pid(to) && process_table::lookup(to) == nullptr)) {
        return atom("logger");
    }
    return to;
}

Term set_system_logger(Term to) {
    const Term old = system_logger();
    // relaxed: events that are on their way may still go to the old one.
    g_system_logger.store(to.raw, std::memory_order_relaxed);
    return old;
}

// To the system logger, in the form in which OTP's emulator sends it:
// {log, error, Format, [Pid, {Reason, Stacktrace}], Metadata}.
void report_uncaught(Process& p) {
    static constexpr char kFormat[] = "Error in process ~p with exit value:~n~p~n";
    Heap h;
    const Term reason = uncaught_exit_reason(p);
    records::uncaught(p, p.exception.cls == ExceptionClass::throw_ ? atoms::throw_ : atoms::error,
                      p.exception.reason, p.exception.trace);
    const Term args = cons(h, p.id, cons(h, reason, kNil));
    const Term format = make_string(h, kFormat, sizeof(kFormat) - 1);
    const Term to = system_logger();
    if (to == atoms::undefined) {
        return;
    }
    static const Term log = atom_table::intern("log");
    const Term report = make_tuple(h, log, atoms::error, format, args, event_metadata(h, p));
    deliver_message(to, report);
    h.clear();
}

}  // namespace minivm
