// Trace patterns: which functions have which actions. The requests of trace_pattern/3 are kept in order,
// so that a new version of a module gets what the former one has, functions that are new in it included.
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
    // The names are patterns as in a shell, with * and ?; they also hold for modules that are loaded later.
    bool is_glob = false;
    bool matches_module(Term m) const;
    bool matches(Term m, Term f, uint32_t a) const;
};

// How a call of trace_pattern/3 changes an Action.
struct Request {
    Functions which{};
    bool on = true;
    bool local = false, global = false, meta = false, count = false, time = false, memory = false;
    bool counters() const { return count || time || memory; }
    bool restart = false, pause = false;  // of the counters
    bool debug = false;                   // erts_debug:breakpoint/2, and nothing else
    SpecPtr spec;
    tracing::Tracer meta_tracer;
    uint64_t number = 0;  // in the order of the requests
};

// The pattern of trace_pattern(on_load, ...), for functions of new code that no request matches.
struct OnLoad {
    // None of these but `on`: global calls.
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
    // The last request before a module was loaded for the first time: requests up to it do not hold for
    // the module. By atom index.
    std::map<uint32_t, uint64_t> came_after;
};
struct Session;

// Puts the request into `change`, a Change of the session, for all functions that exist, and keeps it for new
// code. Returns the number of functions; the caller applies the change.
int64_t apply_request(Session& s, const Request& r, Change* change);

// Gives a staged module the breakpoints that the requests of all sessions so far ask for.
void stage_instance(ModuleInstance& m);

}  // namespace minivm::trace
