%% A tracer with the two functions that each must have.
-module(trace_module_plain).
-export([enabled/3, trace/5]).
-on_load(load/0).

load() ->
    erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "trace_module_plain"), 0).

enabled(_, _, _) -> erlang:nif_error(not_loaded).
trace(_, _, _, _, _) -> erlang:nif_error(not_loaded).
