%% Conway's Game of Life on an endless plane: a set of live cells as map keys.
-module(app_life).
-export([main/1]).

main(_) ->
    Glider = parse([".#.", "..#", "###"]),
    lists:foldl(fun(G, S) -> io:format("generation ~p: ~p~n", [G, lists:sort(maps:keys(S))]),
                    step(S) end, Glider, lists:seq(0, 8)),
    R = parse([".##", "##.", ".#."]),
    lists:foldl(fun(G, S) -> case G rem 20 of 0 -> io:format("~p ~p~n", [G, map_size(S)]);
                                 _ -> ok end, step(S) end, R, lists:seq(0, 200)),
    draw(run(60, R)),
    Pulsar = parse(["###", "#.#", "#.#", "###"]),
    io:format("~p~n", [[map_size(run(N, Pulsar)) || N <- lists:seq(0, 30, 3)]]).

parse(Rows) ->
    maps:from_list([{{X, Y}, live} || {Y, Row} <- lists:zip(lists:seq(1, length(Rows)), Rows),
                    {X, $#} <- lists:zip(lists:seq(1, length(Row)), Row)]).

run(0, S) -> S;
run(N, S) -> run(N - 1, step(S)).

step(S) ->
    Counts = maps:fold(fun({X, Y}, _, A) ->
                               lists:foldl(fun(K, M) ->
                                               maps:update_with(K, fun(C) -> C + 1 end, 1, M) end,
                                           A,
                                           [{X + DX, Y + DY} || DX <- [-1, 0, 1], DY <- [-1, 0, 1],
                                            {DX, DY} =/= {0, 0}])
                       end, #{}, S),
    maps:filtermap(fun(_, 3) -> {true, live}; (K, 2) -> is_map_key(K, S) andalso {true, live};
                       (_, _) -> false end, Counts).

draw(S) ->
    Xs = [X || {X, _} <- maps:keys(S)], Ys = [Y || {_, Y} <- maps:keys(S)],
    [io:format("~s~n", [[case S of #{{X, Y} := _} -> $#; _ -> $. end
                         || X <- lists:seq(lists:min(Xs), lists:max(Xs))]])
     || Y <- lists:seq(lists:min(Ys), lists:max(Ys))].
