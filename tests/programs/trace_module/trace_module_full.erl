%% A tracer with functions for each kind of event.
-module(trace_module_full).
-export([enabled/3, enabled_call/3, enabled_garbage_collection/3, enabled_procs/3,
         enabled_receive/3, enabled_running_procs/3, enabled_send/3, trace/5, trace_call/5,
         trace_garbage_collection/5, trace_procs/5, trace_receive/5, trace_running_procs/5,
         trace_send/5]).
-on_load(load/0).

load() ->
    erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "trace_module_full"), 0).

enabled(_, _, _) -> erlang:nif_error(not_loaded).
enabled_call(_, _, _) -> erlang:nif_error(not_loaded).
enabled_garbage_collection(_, _, _) -> erlang:nif_error(not_loaded).
enabled_procs(_, _, _) -> erlang:nif_error(not_loaded).
enabled_receive(_, _, _) -> erlang:nif_error(not_loaded).
enabled_running_procs(_, _, _) -> erlang:nif_error(not_loaded).
enabled_send(_, _, _) -> erlang:nif_error(not_loaded).
trace(_, _, _, _, _) -> erlang:nif_error(not_loaded).
trace_call(_, _, _, _, _) -> erlang:nif_error(not_loaded).
trace_garbage_collection(_, _, _, _, _) -> erlang:nif_error(not_loaded).
trace_procs(_, _, _, _, _) -> erlang:nif_error(not_loaded).
trace_receive(_, _, _, _, _) -> erlang:nif_error(not_loaded).
trace_running_procs(_, _, _, _, _) -> erlang:nif_error(not_loaded).
trace_send(_, _, _, _, _) -> erlang:nif_error(not_loaded).
