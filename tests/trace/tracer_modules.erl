%% Tracers that are modules where `erl` of OTP 25 is no oracle: in sessions, and under load. Their library is
%% that of tests/programs/trace_module, in the folder that PROGRAM_DIR names.
-module(tracer_modules).
-export([main/1, f/1, g/1]).

main(["sessions"]) -> sessions();
main(["stress", Seed, Rounds]) -> stress(list_to_integer(Seed), list_to_integer(Rounds)).

f(X) -> {X}.
g(X) -> [f(X)].

%% Each session's module is asked and told with the session's own state.
sessions() ->
    P = spawn_link(fun helper/0),
    Wrong = [try trace:session_create(s, T, []) catch error:R -> R end ||
                T <- [{lists, []}, {no_such_module, []}, {1, []}, {trace_module_full}, none]],
    [badarg] = lists:usort(Wrong),
    A = trace:session_create(a, {trace_module_full, {self(), #{call => trace, return_from => trace}}}, []),
    B = trace:session_create(b, {trace_module_plain, {self(), #{call => trace, send => trace}}}, []),
    1 = trace:process(A, P, true, [call]),
    1 = trace:process(B, P, true, [call, send, arity]),
    1 = trace:function(A, {?MODULE, f, 1}, [{'_', [], [{return_trace}]}], [local]),
    1 = trace:function(B, {?MODULE, f, 1}, [{'_', [], [{return_trace}]}], [meta]),
    1 = trace:function(B, {?MODULE, g, 1}, true, [local]),
    call(P, fun() -> g(1), self() ! x, receive x -> ok end end),
    [{trace, call, {?MODULE, g, 1}, #{}}, {trace, call, {?MODULE, f, [1]}, #{timestamp := timestamp}},
     {trace, return_from, {?MODULE, f, 1}, #{extra := {1}, timestamp := timestamp}},
     {trace, send, x, _}, {trace, send, done, _},
     {trace_call, call, {?MODULE, f, [1]}, #{}}, {trace_call, return_from, {?MODULE, f, 1}, #{extra := {1}}}] =
        lists:sort(fun({X, _, _, _}, {Y, _, _, _}) -> X =< Y end, flush()),
    {tracer, {trace_module_plain, _}} = trace:info(B, P, tracer),
    true = trace:session_destroy(B),
    %% One whose module is gone traces nothing; the other goes on.
    C = trace:session_create(c, {trace_module_plain, {self(), #{call => trace}}}, []),
    1 = trace:process(C, P, true, [call]),
    1 = trace:function(C, {?MODULE, f, 1}, true, [local]),
    true = code:delete(trace_module_plain),
    code:purge(trace_module_plain),
    call(P, fun() -> f(2) end),
    [{trace_call, call, _, _}, {trace_call, return_from, _, _}] = flush(),
    {flags, []} = trace:info(C, P, flags),
    {flags, [call]} = trace:info(A, P, flags),
    [true = trace:session_destroy(S) || S <- [A, C]],
    io:format("ok~n").

%% Processes do what is traced while tracers are named, change, and end, and while their modules are
%% deleted, purged and loaded again.
stress(Seed, Rounds) ->
    rand:seed(exsss, Seed),
    Sink = spawn_link(fun sink/0),
    Tracees = [spawn_link(fun() -> work(N) end) || N <- lists:seq(1, 4)],
    [change(Tracees, Sink) || _ <- lists:seq(1, Rounds)],
    erlang:trace(all, false, [all]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local, meta]),
    [begin unlink(P), exit(P, kill) end || P <- Tracees],
    io:format("ok~n").

change(Tracees, Sink) ->
    Module = one_of([trace_module_full, trace_module_plain]),
    State = {Sink, maps:from_list([{T, one_of([trace, trace, discard, remove, raise])} || T <- tags()] ++
                                      [{trace_status, one_of([trace, trace, trace, remove])},
                                       {list_to_binary(lists:duplicate(100, $a)), fun() -> Module end}])},
    P = one_of(Tracees),
    case rand:uniform(8) of
        N when N =< 3 ->
            catch erlang:trace(P, true, [{tracer, Module, State} | flags()]);
        4 ->
            erlang:trace(P, false, [all]);
        5 ->
            catch erlang:trace_pattern({?MODULE, one_of([f, g]), 1},
                                       one_of([true, false, [{'_', [], [{return_trace}, {message, {caller}}]}],
                                               [{'_', [], [{trace, [], [send, {const, {tracer, Module, State}}]}]}]]),
                                       [one_of([local, {meta, Module, State}])]);
        6 ->
            code:purge(Module),
            code:delete(Module),
            rand:uniform(2) =:= 1 andalso code:purge(Module);
        7 ->
            code:purge(Module),
            code:load_file(Module);
        8 ->
            erlang:trace_info(P, tracer),
            erlang:trace_info({?MODULE, f, 1}, meta),
            catch seq_trace:set_system_tracer(one_of([false, {Module, State}]))
    end.

tags() ->
    [call, return_from, return_to, exception_from, send, 'receive', in, out, spawn, spawned, link, exit, seq_trace,
     gc_minor_start, gc_minor_end, gc_major_start, gc_major_end].

flags() ->
    [F || F <- [call, return_to, send, 'receive', procs, running, garbage_collection, timestamp, scheduler_id,
                set_on_spawn], rand:uniform(2) =:= 1].

work(N) ->
    _ = g(N), _ = f([N | lists:seq(1, 100)]),
    self() ! N, receive N -> ok end,
    seq_trace:set_token(send, true),
    {Child, Ref} = spawn_monitor(fun() -> f(child), exit(N) end),
    receive {'DOWN', Ref, process, Child, _} -> ok end,
    seq_trace:set_token([]),
    garbage_collect(),
    catch error(g(N)),
    work(N).

sink() ->
    receive _ -> sink() end.

one_of(List) ->
    lists:nth(rand:uniform(length(List)), List).

helper() ->
    receive {From, F} -> F(), From ! done end,
    helper().

call(P, F) ->
    P ! {self(), F},
    receive done -> ok end,
    Ref = trace:delivered(a, P),
    receive {trace_delivered, P, Ref} -> ok end.

flush() ->
    receive {Function, Tag, _, What, Opts, _} -> [{Function, Tag, What, Opts} | flush()] after 0 -> [] end.
