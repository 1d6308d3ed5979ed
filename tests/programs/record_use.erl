%% Records: defaults, update, nested update, matching, index, tests, badrecord.
-module(record_use).
-export([main/1, id/1]).

-record(point, {x = 0 :: integer(), y = 0 :: integer()}).
-record(shape, {name = "none", origin = #point{}, points = [], extra}).
-record(wide, {a, b, c, d, e, f, g, h, i, j, k, l}).

main(_) ->
    P = #point{x = 3},
    S = #shape{name = "square", points = [#point{x = X, y = Y} || X <- [0, 1], Y <- [0, 1]]},
    io:format("~p~n~p~n", [P, S]),
    S2 = S#shape{origin = (S#shape.origin)#point{y = 9}, extra = [1]},
    io:format("~p~n", [S2]),
    io:format("~p~n", [S2#shape.origin#point.y]),
    io:format("~p ~p~n", [#point.x, #shape.extra]),
    io:format("~p ~p~n", [record_info(fields, shape), record_info(size, wide)]),
    W = lists:foldl(fun({F, V}, Acc) -> set(F, V, Acc) end, #wide{_ = init},
                    [{a, 1}, {l, 12}, {f, 6}]),
    io:format("~p~n", [W]),
    io:format("~p~n", [W#wide{a = z, c = z, e = z, g = z, i = z, k = z}]),
    #point{x = X0} = id(P),
    io:format("~p~n", [X0]),
    io:format("~p~n", [[area(R) || R <- [{circle, 2}, #point{}, {rect, 2, 3}, #shape{}]]]),
    io:format("~p~n",
              [[error_of(fun() -> (id(V))#point.x end) || V <- [{point, 1}, {point, 1, 2, 3},
                                                                {pont, 1, 2}, [], point,
                                                                #wide{}]]]),
    io:format("~p~n", [error_of(fun() -> V = id({x}), V#point{x = 1} end)]),
    io:format("~p~n", [[is_record(V, point) || V <- [#point{}, {point, 1, 2}, {point, 1},
                                                     {other, 1, 2}, point]]]),
    io:format("~p~n", [lists:keysort(#point.y, [#point{x = 1, y = 3}, #point{x = 2, y = 1},
                                                #point{x = 3, y = 2}])]),
    io:format("~p~n", [[Y || #point{x = 1, y = Y} <- [#point{x = 1, y = 5}, #point{x = 2, y = 6},
                                                      other, #point{x = 1, y = 7}]]]).

set(a, V, W) -> W#wide{a = V};
set(f, V, W) -> W#wide{f = V};
set(l, V, W) -> W#wide{l = V}.

area(#point{}) -> 0;
area({circle, R}) -> 3 * R * R;
area({rect, A, B}) -> A * B;
area(R) when is_record(R, shape), R#shape.points =:= [] -> empty.

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
