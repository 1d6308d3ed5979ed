// A tracer with functions for each kind of event.
#include "trace_module.h"

ASK(enabled)
ASK(enabled_call)
ASK(enabled_garbage_collection)
ASK(enabled_procs)
ASK(enabled_receive)
ASK(enabled_running_procs)
ASK(enabled_send)
TELL(trace)
TELL(trace_call)
TELL(trace_garbage_collection)
TELL(trace_procs)
TELL(trace_receive)
TELL(trace_running_procs)
TELL(trace_send)

#define FUNCTION(name, arity) {#name, arity, name, 0}
static ErlNifFunc functions[] = {
    FUNCTION(enabled, 3),
    FUNCTION(enabled_call, 3),
    FUNCTION(enabled_garbage_collection, 3),
    FUNCTION(enabled_procs, 3),
    FUNCTION(enabled_receive, 3),
    FUNCTION(enabled_running_procs, 3),
    FUNCTION(enabled_send, 3),
    FUNCTION(trace, 5),
    FUNCTION(trace_call, 5),
    FUNCTION(trace_garbage_collection, 5),
    FUNCTION(trace_procs, 5),
    FUNCTION(trace_receive, 5),
    FUNCTION(trace_running_procs, 5),
    FUNCTION(trace_send, 5),
};

ERL_NIF_INIT(trace_module_full, functions, load, NULL, upgrade, NULL)
