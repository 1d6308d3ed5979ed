%% Functions of maps that take long let others run meanwhile, and give what they give at once.
-module(maps_yield).
-export([start/0]).

-define(N, 400000).

start() ->
    Keys = lists:seq(1, ?N),
    Pairs = [{K, -K} || K <- Keys],
    Map = maps:from_list(Pairs),
    [io:format("~p: ~p~n", [Name, count(F)])
     || {Name, F} <- [{keys, fun() -> length(maps:keys(Map)) end},
                      {values, fun() -> length(maps:values(Map)) end},
                      {from_list, fun() -> map_size(maps:from_list(Pairs)) end},
                      {from_keys, fun() -> map_size(maps:from_keys(Keys, v)) end}]],
    io:format("~p~n", [lists:sort(maps:keys(Map)) =:= Keys]),
    %% Keys, values and pairs come in one order, whatever that is.
    [begin
         M = maps:from_list([{K, -K} || K <- lists:seq(1, N)]),
         io:format("~p: ~p~n", [N, lists:zip(maps:keys(M), maps:values(M)) =:= maps:to_list(M)])
     end || N <- [0, 1, 32, 33, 1000, 4096, 4097, 16384, 20481, ?N]],
    ok.

%% How often the process that runs F gives up its scheduler.
count(F) ->
    Self = self(),
    {Pid, Monitor} = spawn_monitor(fun() -> receive go -> ok end, exit({result, F()}) end),
    1 = erlang:trace(Pid, true, [running, {tracer, Self}]),
    Pid ! go,
    Result = receive {'DOWN', Monitor, process, Pid, {result, R}} -> R end,
    Delivered = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Delivered} -> ok end,
    {outs(Pid, 0) > 2, Result}.

outs(Pid, N) ->
    receive
        {trace, Pid, out, _} -> outs(Pid, N + 1);
        {trace, Pid, _, _} -> outs(Pid, N)
    after 0 -> N
    end.
