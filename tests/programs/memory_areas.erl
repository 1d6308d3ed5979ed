%% erlang:memory/0,1 by area: what is taken is seen where it belongs, and is no longer there when it is given back.
-module(memory_areas).
-export([start/0]).

-define(MANY, 20000000).

start() ->
    io:format("~p~n", [[Area || {Area, _} <- erlang:memory()]]),
    io:format("~p~n", [[Area || {Area, _} <- erlang:memory([ets, total, code, ets])]]),
    io:format("~p~n", [[catch_error(fun() -> erlang:memory(X) end) || X <- [foo, [foo], {total}, []]]]),
    sums(erlang:memory()),
    true = lists:all(fun({_, N}) -> N > 0 end, erlang:memory()),
    grows(binary, fun() -> binary:copy(<<1>>, ?MANY) end),
    grows(processes, fun() -> lists:seq(1, ?MANY div 8) end),
    grows(processes_used, fun() -> [spawn_link(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 10000)] end),
    grows(ets, fun() -> T = ets:new(t, [public]), [ets:insert(T, {N, N}) || N <- lists:seq(1, 300000)] end),
    Atoms = erlang:memory(atom_used),
    _ = [list_to_atom("memory_areas_" ++ integer_to_list(N)) || N <- lists:seq(1, 10000)],
    true = erlang:memory(atom_used) - Atoms > 10000 * 16,
    true = erlang:memory(atom_used) =< erlang:memory(atom),
    sums(erlang:memory()).

sums(Memory) ->
    V = fun(Area) -> proplists:get_value(Area, Memory) end,
    true = V(total) =:= V(processes) + V(system),
    true = V(processes) >= V(processes_used),
    true = V(atom) >= V(atom_used),
    true = V(system) >= V(atom) + V(binary) + V(code) + V(ets).

%% What a process has made goes with it.
grows(Area, Make) ->
    Before = erlang:memory(Area),
    Self = self(),
    {Pid, Ref} = spawn_monitor(fun() ->
                                       Made = Make(),
                                       Self ! {self(), made},
                                       receive stop -> Made end
                               end),
    receive {Pid, made} -> ok end,
    With = erlang:memory(Area),
    io:format("~p grows: ~p~n", [Area, With - Before > 10000000]),
    exit(Pid, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    io:format("~p shrinks: ~p~n", [Area, shrinks(Area, With, 1000)]).

shrinks(Area, With, Tries) ->
    erlang:garbage_collect(),
    case With - erlang:memory(Area) > 10000000 of
        true -> true;
        false when Tries =:= 0 -> {no, With, erlang:memory(Area)};
        false -> receive after 10 -> shrinks(Area, With, Tries - 1) end
    end.

catch_error(F) -> try F() catch error:E -> E end.
