%% call_count and call_time: in which processes, by tail calls, exceptions and recursion, paused and
%% begun again.
-module(trace_counters).
-export([main/1, outer/1, inner/1, tail/1, fails/1, deep/1]).

outer(X) -> Y = inner(X), Y + 1.
inner(X) -> X * 2.
tail(0) -> done;
tail(N) -> tail(N - 1).
fails(X) -> error({no, X}).
deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).
all() -> [{?MODULE, F, 1} || F <- [outer, inner, tail, fails, deep]].

%% By process: calls, and whether it took any time at all.
rows(MFA, Pids) ->
    case erlang:trace_info(MFA, call_time) of
        {call_time, Rows} when is_list(Rows) ->
            lists:sort([{proplists:get_value(P, Pids, other), N, S * 1000000 + Us >= 0}
                        || {P, N, S, Us} <- Rows]);
        Other -> Other
    end.
count(MFA) -> element(2, erlang:trace_info(MFA, call_count)).

work() ->
    5 = outer(2),
    done = tail(100),
    {'EXIT', _} = (catch fails(1)),
    50 = deep(50),
    4 = inner(2).

runner() -> receive {F, From} -> F(), From ! ran, runner() end.
run(P, F) -> P ! {F, self()}, receive ran -> ok end.

main(_) ->
    Traced = spawn_link(fun runner/0),
    Other = spawn_link(fun runner/0),
    Pids = [{Traced, traced}, {Other, other}],
    1 = erlang:trace(Traced, true, [call]),
    [1 = erlang:trace_pattern(F, true, [call_count]) || F <- all()],
    [1 = erlang:trace_pattern(F, true, [call_time]) || F <- all()],
    [run(P, fun work/0) || P <- [Traced, Other]],
    [p(F, {count({M, F, A}), rows({M, F, A}, Pids)}) || {M, F, A} <- all()],
    p(all, [K || {K, _} <- element(2, erlang:trace_info({?MODULE, deep, 1}, all))]),
    p(pause, erlang:trace_pattern({?MODULE, '_', '_'}, pause, [call_count])),
    p(pause, erlang:trace_pattern({?MODULE, deep, 1}, pause, [call_time])),
    run(Traced, fun work/0),
    [p(F, {count({M, F, A}), rows({M, F, A}, Pids)}) || {M, F, A} <- all()],
    p(restart, erlang:trace_pattern({?MODULE, deep, 1}, restart, [call_time])),
    p(restart, erlang:trace_pattern({?MODULE, deep, 1}, restart, [call_count])),
    p(again, {count({?MODULE, deep, 1}), rows({?MODULE, deep, 1}, Pids)}),
    run(Traced, fun work/0),
    p(again, {count({?MODULE, deep, 1}), rows({?MODULE, deep, 1}, Pids)}),
    p(bif, erlang:trace_pattern({lists, reverse, 2}, true, [call_time])),
    run(Traced, fun() -> lists:reverse([1, 2], []) end),
    p(bif, rows({lists, reverse, 2}, Pids)),
    p(off, erlang:trace_pattern({'_', '_', '_'}, false, [call_time]) > 1),
    p(off, [rows(F, Pids) || F <- all()]),
    p(bad, [try erlang:trace_pattern({?MODULE, deep, 1}, S, Fl) catch error:R -> R end
            || {S, Fl} <- [{pause, [local]}, {restart, [meta]}, {[{'_', [], []}], [call_time]},
                           {pause, [local, call_time]}]]),
    no_frames_left(Traced).

%% A process that hibernates in a counted function drops its frames.
no_frames_left(Traced) ->
    erlang:trace_pattern({?MODULE, '_', '_'}, [{'_', [], [{return_trace}]}], [local]),
    Self = self(),
    Traced ! {fun() -> erlang:hibernate(erlang, send, [Self, woken]) end, Self},
    timer:sleep(50),
    Traced ! anything,
    receive woken -> p(woken, true) end.
