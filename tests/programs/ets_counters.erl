%% update_counter/3,4 and update_element/3: bounds, several operations at once, large integers,
%% errors.
-module(ets_counters).
-export([main/1]).

main(_) ->
    [table(Type) || Type <- [set, ordered_set]],
    concurrent(),
    positions().

table(Type) ->
    T = ets:new(t, [Type, public]),
    ets:insert(T, {c, 0, 10, x, 1 bsl 80}),
    Ops = [1, -1, 0, {2, 5}, {3, -20}, {2, 100, 50, 7}, {2, -100, -50, -7}, {2, 1, 1, 1}, {5, 1},
            {5, -(1 bsl 80)},
           [], [{2, 1}, {2, 1}, {3, 4}], [{2, 1, 0, 99}, {2, -1, 0, 5}], {3, 1 bsl 62}, {3,
                   -(1 bsl 62)},
           {2, 0, 3, 4}, {2, (1 bsl 60) - 1}, {2, 1}, {2, 1}],
    [io:format("~p -> ~p~n", [Op, ets:update_counter(T, c, Op)]) || Op <- Ops],
    io:format("~p~n", [ets:lookup(T, c)]),
    Bad = [x, 1.0, {2}, {2, x}, {2, 1, 2}, {2, 1, x, 1}, {2, 1, 1, x}, {2, 1.0}, {0, 1}, {-1, 1},
            {6, 1}, {1, 1}, {4, 1},
           {x, 1}, {1 bsl 70, 1}, [x], [1], [{2, 1} | x], [{2, 1}, {1, 1}], [{2, 1}, {9, 1}], [{2,
                   1}, {4, 1}],
           {2, 1, 2, 3, 4}, #{}, "abc"],
    [io:format("~p -> ~p~n", [Op, catch_(fun() -> ets:update_counter(T, c, Op) end)]) || Op <- Bad],
    [io:format("~p -> ~p~n", [Op, catch_(fun() -> ets:update_counter(T, nokey,
            Op) end)]) || Op <- [1, x, {9, 1}, []]],
    %% Nothing of a list that fails is done.
    io:format("~p~n", [ets:lookup(T, c)]),
    [io:format("~p ~p -> ~p ~p~n",
               [Op, Default, catch_(fun() -> ets:update_counter(T, d, Op, Default) end),
                       ets:take(T, d)])
     || {Op, Default} <- [{1, {d, 41}}, {{3, 5}, {other, a, 1, b}}, {1, {d}}, {1, {}}, {1, x}, {1,
             {d, x}},
                          {[], {d, 1}}, {{2, 1, 0, 0}, {d, 7}}, {{1, 1}, {d, 1}}, {x, {d, 1}},
                                  {[{2, 1}, {2, 1}], {d, 1 bsl 70}}]],
    [io:format("~p -> ~p ~p~n", [U, catch_(fun() -> ets:update_element(T, c, U) end), ets:lookup(T,
            c)])
     || U <- [{2, new}, {3, {big, [1, 2, "three"], 1 bsl 90, <<0:800>>}}, [{2, 1}, {3, 2}, {2, 3}],
             [], {9, 1}, {0, 1}, {1, c},
              x, {2}, {x, 1}, [x], [{2, a} | b], [{2, b}, {1, c}], [{2, b}, {9, c}], {2, 1, 2}, {5,
                      2.5e300}]],
    [io:format("~p -> ~p~n", [U, catch_(fun() -> ets:update_element(T, nokey, U) end)])
     || U <- [{2, new}, [], {1, x}, {99, x}, x, [x], {x, 1}, {0, 1}]],
    ets:delete(T).

concurrent() ->
    T = ets:new(t, [public, {write_concurrency, true}]),
    Self = self(),
    Pids = [spawn(fun() ->
                          [begin ets:update_counter(T, shared, 1, {shared, 0}),
                                 ets:update_counter(T, {own, N rem 3}, {2, 1}, {x, 0}),
                                 ets:insert(T, {{N, I rem 10}, I})
                           end || I <- lists:seq(1, 1000)],
                          Self ! {done, self()}
                  end) || N <- lists:seq(1, 8)],
    [receive {done, P} -> ok end || P <- Pids],
    io:format("~p ~p~n", [ets:lookup(T, shared), [ets:lookup(T, {own, N}) || N <- [0, 1, 2]]]),
    io:format("~p ~p~n", [ets:info(T, size), lists:sort(ets:match(T, {{3, '$1'}, '$2'}))]).

positions() ->
    T = ets:new(t, [{keypos, 3}]),
    ets:insert(T, {1, 2, key, 4}),
    io:format("~p~n", [[catch_(fun() -> ets:update_counter(T, key, Op) end) || Op <- [1, {1, 1},
            {2, 1}, {3, 1}, {5, 1}]]]),
    io:format("~p~n", [[catch_(fun() -> ets:insert(T, O) end) || O <- [{1, 2}, {1, 2, 3}, {}, [{1,
            2}, {1, 2, 3}]]]]),
    io:format("~p~n", [lists:sort(ets:tab2list(T))]),
    io:format("~p~n", [catch_(fun() -> ets:update_counter(T, new, 1, {1, 2, x, 4}) end)]),
    io:format("~p~n", [catch_(fun() -> ets:update_counter(T, new2, 1, {1, 2}) end)]),
    io:format("~p~n", [lists:sort(ets:tab2list(T))]).

catch_(F) ->
    try F()
    catch C:R:S -> {M, N, _, Info} = hd(S), {C, R, M, N, Info}
    end.
