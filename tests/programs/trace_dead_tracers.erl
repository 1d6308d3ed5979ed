%% Tracers that have ended. A process that comes to a scheduler again is not traced, or measured, any more; a meta
%% trace's tracer is shown until a call has found that it is no more, and then no specification is run.
-module(trace_dead_tracers).
-export([start/0, counted/1, called/1]).

start() ->
    measured(),
    meta(),
    calls().

tracer(Fun) ->
    Main = self(),
    {Pid, Ref} = spawn_monitor(fun() -> Fun(), Main ! {self(), done}, receive stop -> ok end end),
    receive {Pid, done} -> ok end,
    {Pid, Ref}.

stop({Pid, Ref}) ->
    Pid ! stop,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end.

measured() ->
    Main = self(),
    Tracer = tracer(fun() -> erlang:trace(Main, true, [call]) end),
    erlang:trace_pattern({?MODULE, counted, 1}, true, [call_time]),
    counted(counted(1)),
    stop(Tracer),
    erlang:yield(),
    counted(counted(1)),
    {call_time, Rows} = erlang:trace_info({?MODULE, counted, 1}, call_time),
    io:format("~w ~w~n", [[Calls || {_, Calls, _, _} <- Rows], erlang:trace_info(Main, flags)]),
    erlang:trace_pattern({?MODULE, counted, 1}, false, [call_time]).

meta() ->
    Tracer = {Pid, _} = tracer(fun() -> ok end),
    Spec = [{'_', [], [{set_tcw, 17}]}],
    [erlang:trace_pattern({?MODULE, F, 1}, Spec, [{meta, Pid}]) || F <- [called, counted]],
    erlang:trace_pattern({erlang, phash2, 1}, Spec, [{meta, Pid}]),
    shown(Pid),
    called(1),
    io:format("~w~n", [erlang:system_flag(trace_control_word, 0)]),
    stop(Tracer),
    shown(Pid),
    called(1),
    erlang:phash2(1),
    shown(Pid),
    io:format("~w~n", [erlang:system_flag(trace_control_word, 0)]),
    [erlang:trace_pattern({?MODULE, F, 1}, Spec, [{meta, self()}]) || F <- [called, counted]],
    shown(self()),
    spawn_link(fun() -> called(2) end),
    receive {trace_ts, _, call, What, _} -> io:format("~w~n", [What]) end,
    erlang:trace_pattern({'_', '_', '_'}, false, [meta]).

shown(Pid) ->
    [io:format("~w ~w~n", [Mfa, [case erlang:trace_info(Mfa, Item) of
                                     {meta, Pid} -> {meta, tracer};
                                     Other -> Other
                                 end || Item <- [meta, meta_match_spec]]])
     || Mfa <- [{?MODULE, called, 1}, {?MODULE, counted, 1}, {erlang, phash2, 1}]].

calls() ->
    Main = self(),
    Tracer = tracer(fun() -> erlang:trace(Main, true, [call]) end),
    erlang:trace_pattern({?MODULE, called, 1}, [{'_', [], [{set_tcw, 18}]}], [local]),
    called(1),
    io:format("~w~n", [erlang:system_flag(trace_control_word, 0)]),
    stop(Tracer),
    erlang:yield(),
    called(1),
    io:format("~w ~w~n", [erlang:system_flag(trace_control_word, 0), erlang:trace_info(Main, flags)]),
    erlang:trace_pattern({?MODULE, called, 1}, false, [local]).

counted(N) -> N + 1.
called(N) -> {N}.
