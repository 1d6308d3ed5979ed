#include "vm/process/report.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "vm/process/extra.hpp"
#include "vm/process/node_life.hpp"
#include "vm/process/process_life.hpp"
#include "vm/process/process_record.hpp"
#include "vm/process/process_table.hpp"
#include "vm/process/registry.hpp"
#include "vm/process/signal.hpp"
#include "vm/term/atom_table.hpp"
#include "vm/term/format.hpp"
#include "vm/term/local_atoms.hpp"
#include "vm/term/map.hpp"
#include "vm/term/this_node.hpp"

namespace minivm {

namespace {

LOCAL_ATOM(atom_emulator, "emulator")
LOCAL_ATOM(atom_gl, "gl")

// The raw word of the atom logger, the atom undefined or a local pid; 0: logger.
std::atomic<Word> g_system_logger{0};

// The metadata of a log event: #{error_logger, gl, pid, time}.
Term event_metadata(Heap& h, Process& p, Term level) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    Term logger_keys[2] = {atom_emulator(), atoms::tag};
    Term logger_values[2] = {atoms::true_,
                             level == atoms::error ? level : atom_table::intern("warning_msg")};
    Term keys[4] = {atoms::error_logger, atom_gl(), atoms::pid, atoms::time};
    Term values[4] = {
        map::from_pairs(h, logger_keys, logger_values, 2), p.group_leader, p.id,
        make_integer(h, std::chrono::duration_cast<std::chrono::microseconds>(now).count())};
    return map::from_pairs(h, keys, values, 4);
}

// Sends an event to the system logger in the form of OTP's emulator:
// {log, Level, Format, Args, Metadata}. The arguments are in h.
void log_event(Heap& h, Process& p, Term level, std::string_view format,
               std::initializer_list<Term> args) {
    const Term to = system_logger();
    if (to == atoms::undefined) {
        return;
    }
    Term list = kNil;
    for (const Term* t = args.end(); t != args.begin(); --t) {
        list = cons(h, t[-1], list);
    }
    const Term text = make_string(h, format.data(), format.size());
    const Term event = make_tuple(h, atoms::log, level, text, list, event_metadata(h, p, level));
    if (is_atom(to) && !is_value(registry::whereis(to))) {  // the boot has not started it yet, or it was killed
        fprintf(stderr, "(no logger present) unexpected logger message: %s\r\n", display_term(event).c_str());
        return;
    }
    deliver_message(to, event);
}
void log_error(Heap& h, Process& p, std::string_view format, std::initializer_list<Term> args) {
    log_event(h, p, atoms::error, format, args);
}

}  // namespace

Term system_logger() {
    // relaxed: a single word; see set_system_logger().
    const Term to{g_system_logger.load(std::memory_order_relaxed)};
    if (to.raw == 0 || (is_local_pid(to) && process_table::lookup(to) == nullptr)) {
        return atoms::logger;
    }
    return to;
}

Term set_system_logger(Term to) {
    const Term old = system_logger();
    // relaxed: events that are on their way may still go to the old one.
    g_system_logger.store(to.raw, std::memory_order_relaxed);
    return old;
}

void report_uncaught(Process& p) {
    Heap h;
    records::uncaught(p, p.exception.cls == ExceptionClass::throw_ ? atoms::throw_ : atoms::error,
                      p.exception.reason, p.exception.trace);
    if (node_life::is_alive()) {
        log_error(h, p, "Error in process ~p on node ~p with exit value:~n~p~n",
                  {p.id, this_node_name(), uncaught_exit_reason(p)});
    } else {
        log_error(h, p, "Error in process ~p with exit value:~n~p~n", {p.id, uncaught_exit_reason(p)});
    }
}

void report_text(Process& p, ReportLevel level, std::string_view text) {
    Heap h;
    log_event(h, p, level == ReportLevel::error ? atoms::error : atom_table::intern("warning"), "~ts~n",
              {make_string_utf8(h, text.data(), text.size())});
}

void report_load_failure(Process& p, Term module, std::string_view why) {
    const std::string text =
        "Error loading module " + std::string(atom_table::text(module)) + ":\n  " + std::string(why) + "\n";
    const Term to = system_logger();
    if (is_atom(to) && to != atoms::undefined && !is_value(registry::whereis(to))) {
        fprintf(stderr, "minivm: %s", text.c_str());
        return;
    }
    report_text(p, ReportLevel::error, text);
}

void report_trace_frames(Process& p, Term module, Term function, uint32_t arity, uint32_t frames) {
    Heap h;
    log_event(h, p, atom_table::intern("warning"),
              "Process ~p has ~p trace frames on its stack. From ~p on only calls are traced, no "
              "returns, until there are fewer.~n",
              {p.id, make_small(frames), make_tuple(h, module, function, make_small(arity))});
}

void report_max_heap(Process& p, size_t total_words) {
    const ProcessExtra& extra = extra_of(p);
    Heap h;
    log_error(h, p,
              "     Process:            ~p ~n"
              "     Context:            maximum heap size reached~n"
              "     Max Heap Size:      ~p~n"
              "     Total Heap Size:    ~p~n"
              "     Kill:               ~p~n"
              "     Error Logger:       ~p~n"
              "     Message Queue Len:  ~p~n"
              "     GC Info:            ~p~n",
              {p.id, make_unsigned(h, extra.max_heap_words), make_unsigned(h, total_words),
               make_bool(extra.max_heap_kill), atoms::true_, make_small(p.mailbox.length),
               garbage_collection_info(p, h)});
}

}  // namespace minivm
