%% Exceptions that pass trace frames: who is told of a return, where stack traces lead, and whom meta
%% traces tell of processes that die. Also who traces a child of which two say that they do.
-module(trace_exceptions).
-export([main/1, raises/1, passes/1, again/1, two/1, child/1]).

raises(X) -> error({bad, X}).
passes(X) -> [raises(X)].
two(X) -> X.
again(0) -> error(deep);
again(N) -> [again(N - 1)].
child(X) -> X.

main(_) ->
    M = ?MODULE,
    ET = [{'_', [], [{exception_trace}]}],
    RT = [{'_', [], [{return_trace}]}],
    Catch = fun(F) -> fun() -> try F() catch _:_ -> caught end, ok end end,
    io:format("return_to~n"),
    [shown([call, return_to], Patterns, Catch(Work))
     || {Patterns, Work} <-
            [{[{raises, 1, true}], fun() -> raises(1) end}, {[{raises, 1, true}], fun() -> passes(1) end},
             {[{passes, 1, true}], fun() -> passes(1) end},
             {[{raises, 1, true}, {passes, 1, true}], fun() -> passes(1) end},
             {[{raises, 1, ET}], fun() -> [passes(1)] end}]],
    [shown([call, return_to], [{{erlang, atom_to_list, 1}, ET}], Work)
     || Work <- [fun() -> X = two(1), (catch atom_to_list(X)), ok end,
                 fun() -> (catch [tail_of(two(1))]), ok end,
                 fun() -> (catch [body_of(two(1))]), ok end]],
    io:format("stack traces~n"),
    [begin
         erlang:trace_pattern({M, again, 1}, Spec, Options),
         erlang:trace(self(), true, [call, {tracer, spawn(fun() -> receive after infinity -> ok end end)}]),
         Frames = try again(4) catch _:_:Stack -> [{F, A} || {Module, F, A, _} <- Stack, Module =:= M] end,
         erlang:trace(self(), false, [all]),
         erlang:trace_pattern({M, again, 1}, false, Options),
         io:format("~0p ~0p~n", [Options, Frames])
     end || {Spec, Options} <- [{RT, [local]}, {ET, [meta]}, {true, [call_time]}]],
    io:format("meta traces~n"),
    [begin
         erlang:trace_pattern({M, passes, 1}, ET, [meta]),
         erlang:trace_pattern({M, passes, 1}, Spec, [local]),
         shown(Flags, [], Work),
         erlang:trace_pattern({M, passes, 1}, false, [local]),
         erlang:trace_pattern({M, passes, 1}, false, [meta])
     end || {Flags, Spec, Work} <- [{[], false, fun() -> passes(1) end}, {[send], false, fun() -> passes(1) end},
                                    {[call], RT, Catch(fun() -> passes(1) end)}, {[], false, Catch(fun() -> passes(1) end)}]],
    erlang:trace_pattern({M, two, 1}, RT, [meta]),
    shown([call, return_to], [{two, 1, RT}], fun() -> [two(1)] end),
    erlang:trace_pattern({M, two, 1}, false, [meta]),
    io:format("children~n"),
    [begin
         erlang:trace(new, true, [procs, set_on_spawn, {tracer, self()}]),
         {Pid, Ref} = spawn_monitor(fun() -> receive go -> ok end, spawns(), spawns() end),
         erlang:trace(new, false, [all]),
         erlang:trace(Pid, false, [all]),
         erlang:trace(new, true, [monotonic_timestamp, procs]),
         erlang:trace(Pid, true, Flags),
         Pid ! go,
         receive {'DOWN', Ref, process, Pid, _} -> ok end,
         erlang:trace(new, false, [all]),
         delivered()
     end || Flags <- [[procs], [call, set_on_spawn], [call, set_on_first_spawn, set_on_spawn],
                      [call, set_on_link], [call, set_on_link, set_on_first_link, set_on_spawn]]],
    io:format("flags of new processes~n"),
    [begin
         erlang:trace(new, How, Flags),
         io:format("~0p~n", [[erlang:trace_info(new, I) || I <- [flags]]])
     end || {How, Flags} <- [{true, [procs, call]}, {false, [procs, {tracer, self()}]}, {true, [send]},
                             {false, [procs]}]],
    io:format("a tracer that has ended~n"),
    Tracee = spawn(fun() -> receive run -> ok end, receive after infinity -> ok end end),
    {Tracer, R} = spawn_monitor(fun() -> receive stop -> ok end end),
    erlang:trace(Tracee, true, [monotonic_timestamp, procs, {tracer, Tracer}]),
    Tracer ! stop,
    receive {'DOWN', R, process, Tracer, _} -> ok end,
    Tracee ! run,
    run(Tracee),
    erlang:trace(Tracee, true, [send]),
    io:format("~0p~n", [erlang:trace_info(Tracee, flags)]).

run(Tracee) ->
    case process_info(Tracee, [message_queue_len, status]) of
        [{message_queue_len, 0}, {status, waiting}] -> ok;
        _ -> run(Tracee)
    end.

tail_of(X) -> atom_to_list(X).
body_of(X) -> [atom_to_list(X)].

spawns() ->
    {Pid, Ref} = spawn_opt(?MODULE, child, [1], [link, monitor]),
    receive {'DOWN', Ref, process, Pid, _} -> ok end.

shown(Flags, Patterns, Work) ->
    All = [case P of {F, A, Spec} -> {{?MODULE, F, A}, Spec}; _ -> P end || P <- Patterns],
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> Work() end end),
    [erlang:trace_pattern(MFA, Spec, [local]) || {MFA, Spec} <- All],
    1 = erlang:trace(Pid, true, Flags),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    delivered(),
    [erlang:trace_pattern(MFA, false, [local]) || {MFA, _} <- All].

delivered() ->
    D = erlang:trace_delivered(all),
    receive {trace_delivered, all, D} -> ok end,
    [io:format("~0p~n", [E]) || {_, E} <- lists:keysort(1, told())],
    io:format("--~n").

%% By process: of two processes the order is open.
told() ->
    receive
        M when element(1, M) =:= trace; element(1, M) =:= trace_ts ->
            [{element(2, M), list_to_tuple([kind(E) || E <- tuple_to_list(M)])} | told()]
    after 0 -> []
    end.
kind(Pid) when is_pid(Pid) -> pid;
kind({A, B, C}) when is_integer(A), is_integer(B), is_integer(C) -> time;
kind({Reason, [_ | _]}) -> {Reason, stack};
kind(Time) when is_integer(Time), abs(Time) > 1000 -> time;
kind({M, F, [_ | _]}) -> {M, F, arguments};
kind(Other) -> Other.
