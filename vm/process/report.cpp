// The report of a process that ended by an uncaught error.
#include "vm/process/exception.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/map.hpp"

namespace minivm {

// To whoever is registered as `logger`, in the form in which OTP's emulator sends it:
// {log, error, Format, [Pid, {Reason, Stacktrace}], Metadata}.
void report_uncaught(Process& p) {
    static constexpr char kFormat[] = "Error in process ~p with exit value:~n~p~n";
    Heap h;
    const Term reason = uncaught_exit_reason(p);
    const Term args = cons(h, p.id, cons(h, reason, kNil));
    const Term format = make_string(h, kFormat, sizeof(kFormat) - 1);
    static const Term log = atom_table::intern("log");
    static const Term logger = atom_table::intern("logger");
    const Term report = make_tuple(h, log, atoms::error, format, args, map::empty(h));
    deliver_message(logger, report);
    h.clear();
}

}  // namespace minivm
