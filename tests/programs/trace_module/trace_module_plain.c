// A tracer with the two functions that each must have.
#include "trace_module.h"

ASK(enabled)
TELL(trace)

static ErlNifFunc functions[] = {{"enabled", 3, enabled, 0}, {"trace", 5, trace, 0}};

ERL_NIF_INIT(trace_module_plain, functions, load, NULL, upgrade, NULL)
