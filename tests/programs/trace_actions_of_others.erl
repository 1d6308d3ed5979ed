%% Actions of match specifications that change who is traced by whom. Where no tracer is named it is that of the
%% process that runs the specification; if that has none, the target is not traced any more. The call itself is
%% told to the tracer from before. A call that comes to a silent process leaves nothing for its return, and one
%% without a message no return_to.
-module(trace_actions_of_others).
-export([start/0, call/1, quiet/1, loud/1, returns/1, nothing/1]).

start() ->
    [one(Flags, Who, Kind, Body)
     || Flags <- [[call], [call, return_to]],
        Kind <- [local, meta],
        {Who, Body} <- [{itself, [{enable_trace, procs}]},
                        {itself, [{disable_trace, call}]},
                        {itself, [{disable_trace, call}, {return_trace}]},
                        {itself, [{trace, [call], []}]},
                        {itself, [{trace, [all], [procs]}]},
                        {itself, [{message, {trace, [], [call]}}]},
                        {itself, [{message, {trace, [nonsense], [call]}}]},
                        {itself, [{silent, true}, {return_trace}]},
                        {itself, [{message, false}, {return_trace}]},
                        {other, [{message, {enable_trace, other, call}}]},
                        {other, [{message, {enable_trace, not_there, call}}]},
                        {other, [{message, {disable_trace, other, send}}]},
                        {other, [{message, {trace, other, [], [procs]}}]},
                        {other, [{message, {trace, other, [send], []}}]},
                        {other, [{message, {trace, other, [], [send]}}]},
                        {other, [{message, {trace, not_there, [], [call]}}]}]],
    silence().

one(Flags, Who, Kind, Body) ->
    [traced(Flags, Kind, Body, By, Of) || By <- [main, nobody], Of <- [nobody, helper],
                                          Who =:= other orelse Of =:= nobody].

traced(Flags, Kind, Body, By, Of) ->
    Main = self(),
    Helper = spawn_link(fun Loop() -> receive stop -> ok; M -> Main ! {helper, M}, Loop() end end),
    Other = spawn_link(fun() -> receive stop -> ok end end),
    register(other, Other),
    Of =:= helper andalso erlang:trace(Other, true, [send, {tracer, Helper}]),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> call(call(1)) end end),
    By =:= main andalso erlang:trace(Pid, true, Flags),
    erlang:trace_pattern({?MODULE, call, 1}, [{'_', [], Body}],
                         case Kind of local -> [local]; meta -> [{meta, Main}] end),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [local]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [meta]),
    io:format("~w ~w ~w by ~w, other by ~w~n", [Flags, Kind, Body, By, Of]),
    told(Pid, erlang:trace_delivered(all)),
    {flags, OtherFlags} = erlang:trace_info(Other, flags),
    {tracer, Tracer} = erlang:trace_info(Other, tracer),
    io:format("    other: ~w ~w~n", [lists:sort(OtherFlags),
                                     if Tracer =:= Main -> main; Tracer =:= Helper -> helper; true -> Tracer end]),
    unlink(Other),
    erlang:trace(Other, false, [all]),
    unregister(other),
    Other ! stop,
    unlink(Helper),
    Helper ! stop.

told(Pid, Delivered) ->
    receive
        {trace_delivered, all, Delivered} -> ok;
        Event when element(1, Event) =:= trace, element(2, Event) =:= Pid ->
            io:format("    ~w~n", [tl(tl(tuple_to_list(Event)))]),
            told(Pid, Delivered);
        Event when element(1, Event) =:= trace_ts, element(2, Event) =:= Pid ->
            io:format("    meta ~w~n", [lists:droplast(tl(tl(tuple_to_list(Event))))]),
            told(Pid, Delivered)
    end.

call(N) -> {N}.

silence() ->
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> {returns(1), quiet(2), {returns(3)}, nothing(4)} end end),
    erlang:trace(Pid, true, [call, return_to]),
    erlang:trace_pattern({?MODULE, returns, 1}, [{'_', [], [{return_trace}]}], [local]),
    erlang:trace_pattern({?MODULE, nothing, 1}, [{'_', [], [{message, false}, {return_trace}]}], [local]),
    erlang:trace_pattern({?MODULE, quiet, 1}, [{'_', [], [{silent, true}, {return_trace}]}], [local]),
    erlang:trace_pattern({?MODULE, loud, 1}, [{'_', [], [{silent, false}, {return_trace}]}], [local]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    io:format("silence~n"),
    told(Pid, erlang:trace_delivered(all)),
    %% What is waited for when silence comes is told all the same.
    erlang:trace_pattern({?MODULE, loud, 1}, [{'_', [], [{exception_trace}]}], [local]),
    {Pid2, Ref2} = spawn_monitor(fun() -> receive go -> {loud(1), loud(raise)} end end),
    erlang:trace(Pid2, true, [call, return_to]),
    Pid2 ! go,
    receive {'DOWN', Ref2, process, Pid2, {value, _}} -> ok end,
    told(Pid2, erlang:trace_delivered(all)).

returns(raise) -> exit({value, quiet(1)});
returns(N) -> {N}.
quiet(N) -> {{returns(N)}, {N > 1 andalso loud(N)}}.
loud(1) -> {quiet(1)};
loud(N) -> {returns(N)}.
nothing(N) -> {returns(N)}.
