// Which functions have which actions: what trace_pattern/3 asks for, kept in order, so that a new
// version of a module gets what the former one has, functions that are new in it included.
// Threads: only the holder of the code modification permission, unless noted.
#pragma once

#include "trace/breakpoint.hpp"

#include <map>
#include <vector>

namespace minivm::trace {

// Functions, '_' standing for all.
struct Functions {
    Term module, function;
    int64_t arity;  // -1: all
    // The names are patterns as a shell's, with * and ?. So it is also for modules that come later.
    bool is_glob = false;
    bool matches_module(Term m) const;
    bool matches(Term m, Term f, uint32_t a) const;
};

// What a call of trace_pattern/3 changes of an Action.
struct Request {
    Functions which{};
    bool on = true;
    bool local = false, global = false, meta = false, count = false, time = false, memory = false;
    bool counters() const { return count || time || memory; }
    bool restart = false, pause = false;  // of the counters
    bool debug = false;                   // erts_debug:breakpoint/2, and nothing else
    SpecPtr spec;
    tracing::Tracer meta_tracer;
    uint64_t number = 0;  // in the order they came
};

// What trace_pattern(on_load, ...) has asked for: what functions get that no request was for.
struct OnLoad {
    // Nothing of these, but on: global calls.
    bool on = false, local = false, meta = false, count = false, time = false, memory = false;
    SpecPtr spec, meta_spec;
    tracing::Tracer meta_tracer;

    bool is_global() const { return !local && !meta && !count && !time && !memory; }
    void change(const Request& r);
    void apply_to(Action& a) const;
};

// What a session has asked for so far.
struct Patterns {
    std::vector<Request> requests;  // in order
    uint64_t last_request = 0;      // number of the last one
    OnLoad on_load;
    // The last request when a module came that was not there: those up to it were not for it. By
    // atom index.
    std::map<uint32_t, uint64_t> came_after;
};
struct Session;

// Applies it to all functions there are and keeps it for those to come. The number of functions;
// the change, which is the session's, is to be applied.
int64_t apply_request(Session& s, const Request& r, Change* change);

// A staged module gets what the requests of all sessions so far ask for.
void stage_instance(ModuleInstance& m);

}  // namespace minivm::trace
