%% Shortest paths with gb_sets as the queue, on a grid and on a random graph, checked by Bellman-
%% Ford.
-module(app_dijkstra).
-export([main/1]).

main(_) ->
    G = graph(60, 400, 7),
    D = dijkstra(G, 1), B = bellman(G, 1),
    io:format("~p~n",
              [lists:sort(maps:to_list(maps:map(fun(_, {C, _}) -> C end,
                                                D))) =:= lists:sort(maps:to_list(B))]),
    [io:format("~p: ~p~n", [V, path(V, D)]) || V <- [1, 17, 33, 60, 999]],
    Maze = ["S..#....", ".#.#.##.", ".#...#..", ".####.#.", "......#E"],
    io:format("~p~n", [maze(Maze)]).

graph(N, E, Seed) -> graph(N, E, Seed, #{}).
graph(_, 0, _, G) -> G;
graph(N, E, S, G) ->
    S1 = (S * 1103515245 + 12345) band 16#7FFFFFFF, S2 = (S1 * 1103515245 + 12345) band 16#7FFFFFFF,
    S3 = (S2 * 1103515245 + 12345) band 16#7FFFFFFF,
    A = S1 bsr 8 rem N + 1, B = S2 bsr 8 rem N + 1, W = S3 bsr 8 rem 50 + 1,
    graph(N, E - 1, S3, maps:update_with(A, fun(L) -> [{B, W} | L] end, [{B, W}], G)).

dijkstra(G, S) -> loop(gb_sets:singleton({0, S, none}), G, #{}).
loop(Q, G, Done) ->
    case gb_sets:is_empty(Q) of
        true -> Done;
        false ->
            {{C, V, From}, Q1} = gb_sets:take_smallest(Q),
            case Done of
                #{V := _} -> loop(Q1, G, Done);
                _ ->
                    Q2 = lists:foldl(fun({U, W}, A) -> gb_sets:add({C + W, U, V}, A) end, Q1,
                                     maps:get(V, G, [])),
                    loop(Q2, G, Done#{V => {C, From}})
            end
    end.

path(V, D) when not is_map_key(V, D) -> unreachable;
path(V, D) -> {Cost, _} = maps:get(V, D), {Cost, back(V, D, [])}.
back(none, _, Acc) -> Acc;
back(V, D, Acc) -> {_, From} = maps:get(V, D), back(From, D, [V | Acc]).

bellman(G, S) -> relax(G, #{S => 0}).
relax(G, D) ->
    D1 = maps:fold(fun(A, Es, Acc) ->
        lists:foldl(fun({B, W}, X) ->
            case X of
                #{A := CA, B := CB} when CA + W < CB -> X#{B := CA + W};
                #{B := _} -> X;
                #{A := CA} -> X#{B => CA + W};
                _ -> X
            end end, Acc, Es) end, D, G),
    case D1 =:= D of true -> D; false -> relax(G, D1) end.

maze(Rows) ->
    Cells = maps:from_list([{{X, Y}, C} || {Y, R} <- lists:zip(lists:seq(1, length(Rows)), Rows),
                            {X, C} <- lists:zip(lists:seq(1, length(R)), R), C =/= $#]),
    [S] = [P || {P, $S} <- maps:to_list(Cells)], [E] = [P || {P, $E} <- maps:to_list(Cells)],
    G = maps:map(fun({X, Y}, _) -> [{P, 1} || P <- [{X + 1, Y}, {X - 1, Y}, {X, Y + 1}, {X, Y - 1}],
                                    is_map_key(P, Cells)] end, Cells),
    path(E, dijkstra(G, S)).
