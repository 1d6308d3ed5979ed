%% '$end_of_table' is no key to go on from in an ordered set, and a process that has ended becomes no heir.
-module(ets_end_and_heir).
-export([start/0]).

start() ->
    [begin
         T = ets:new(t, [Type]),
         ets:insert(T, Objects),
         [io:format("~p ~p ~p: ~0p~n", [Type, F, length(Objects), try ets:F(T, '$end_of_table') catch error:E -> E end])
          || F <- [next, prev, member, lookup]]
     end || Type <- [set, ordered_set, bag, duplicate_bag],
            Objects <- [[], [{1}, {a}], [{'$end_of_table'}]]],
    Self = self(),
    {Heir, Monitor} = spawn_monitor(fun() -> receive stop -> ok end end),
    {Owner, Ended} = spawn_monitor(fun() ->
                                           T = ets:new(t, [{heir, Heir, data}]),
                                           Self ! {table, T, ets:info(T, heir) =:= Heir},
                                           receive look -> ok end,
                                           until(fun() ->
                                                         ets:setopts(T, {heir, Heir, again}),
                                                         ets:info(T, heir) =:= none
                                                 end),
                                           io:format("~p ~p~n", [ets:info(T, heir), ets:info(ets:new(t, [{heir, Heir, x}]), heir)]),
                                           ets:setopts(T, {heir, Self, again}),
                                           io:format("~p~n", [ets:info(T, heir) =:= Self])
                                   end),
    receive {table, _, Is} -> io:format("~p~n", [Is]) end,
    exit(Heir, kill),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    Owner ! look,
    receive {'DOWN', Ended, _, _, Why} -> io:format("~p~n", [Why]) end,
    receive {'ETS-TRANSFER', _, Owner, Data} -> io:format("~p~n", [Data]) end.

until(F) -> F() orelse begin erlang:yield(), until(F) end.
