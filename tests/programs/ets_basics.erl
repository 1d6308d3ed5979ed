%% ets: tables of every type, insert, lookup, update, counters, iteration, errors.
-module(ets_basics).
-export([main/1]).

main(_) ->
    S = ets:new(s, [set]), O = ets:new(o, [ordered_set]), B = ets:new(b, [bag]),
    D = ets:new(d, [duplicate_bag]),
    [begin [ets:insert(T, {K rem 3, K}) || K <- lists:seq(1, 7)],
         ets:insert(T, [{1, 4}, {1.0, f}]) end || T <- [S, O, B, D]],
    [io:format("~p ~p~n", [ets:info(T, type), lists:sort(ets:tab2list(T))]) || T <- [S, O, B, D]],
    [io:format("~p~n", [[ets:lookup(T, 1), ets:member(T, 9), ets:info(T, size)]])
     || T <- [S, O, B, D]],
    ets:insert(S, {counter, 10}),
    io:format("~p~n",
              [[ets:update_counter(S, counter, 5), ets:update_counter(S, counter, {2, -20, 0, 0}),
                ets:update_counter(S, new, 1, {new, 41}), ets:update_element(S, counter, {2, x}),
                ets:insert_new(S, {counter, y})]]),
    io:format("~p~n", [[ets:take(S, counter), ets:delete(S, new), ets:lookup(S, new),
                        ets:lookup_element(O, 1, 2)]]),
    io:format("~p~n", [walk(O, ets:first(O))]),
    io:format("~p~n", [[ets:last(O), ets:prev(O, 2), ets:next(O, 0)]]),
    N = ets:new(named, [named_table, public, {keypos, 2}]),
    ets:insert(named, [{a, 1}, {b, 2}]),
    Self = self(), spawn(fun() -> ets:insert(named, {c, 3}), Self ! done end),
    receive done -> ok end,
    io:format("~p ~p~n", [N, lists:sort(ets:tab2list(named))]),
    io:format("~p~n", [ets:foldl(fun({_, K}, A) -> A + K end, 0, named)]),
    io:format("~p~n",
              [[try F() catch C:E -> {C, E} end || F <- [fun() -> ets:lookup(nosuch, a) end,
                                                         fun() -> ets:new(named, [named_table]) end,
                                                         fun() -> ets:insert(S, a) end,
                                                         fun() -> ets:update_counter(S, zz, 1) end,
                                                         fun() -> ets:lookup_element(S, zz,
                                                                 2) end]]]),
    [ets:delete(T) || T <- [S, O, B, D, named]],
    io:format("~p~n", [ets:info(S)]).

walk(_, '$end_of_table') -> [];
walk(T, K) -> [K | walk(T, ets:next(T, K))].
