%% A knight's tour by Warnsdorff's rule with backtracking.
-module(app_knights_tour).
-export([main/1]).

main(_) ->
    [case tour(N, Start) of
         none -> io:format("~p from ~p: none~n", [N, Start]);
         Path -> io:format("~p from ~p:~n", [N, Start]), show(N, Path), true = legal(Path)
     end || {N, Start} <- [{5, {1, 1}}, {6, {2, 3}}, {8, {1, 1}}, {3, {1, 1}}, {12, {5, 5}}]].

tour(N, Start) -> go(N, [Start], #{Start => 1}).

go(N, Path, Seen) when map_size(Seen) =:= N * N -> lists:reverse(Path);
go(N, [P | _] = Path, Seen) ->
    Next = lists:sort([{length(moves(N, Q, Seen#{Q => x})), Q} || Q <- moves(N, P, Seen)]),
    try_all(N, [Q || {_, Q} <- Next], Path, Seen).

try_all(_, [], _, _) -> none;
try_all(N, [Q | T], Path, Seen) ->
    case go(N, [Q | Path], Seen#{Q => map_size(Seen) + 1}) of
        none -> try_all(N, T, Path, Seen);
        Done -> Done
    end.

moves(N, {X, Y}, Seen) ->
    [P || {DX, DY} <- [{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}],
          P <- [{X + DX, Y + DY}], element(1, P) >= 1, element(1, P) =< N, element(2, P) >= 1,
          element(2, P) =< N, not is_map_key(P, Seen)].

show(N, Path) ->
    Num = maps:from_list(lists:zip(Path, lists:seq(1, length(Path)))),
    [io:format("~s~n", [[io_lib:format("~4w", [maps:get({X, Y}, Num)]) || X <- lists:seq(1, N)]])
     || Y <- lists:seq(1, N)].

legal([{X, Y}, {U, V} = Q | T]) ->
    lists:sort([abs(X - U), abs(Y - V)]) =:= [1, 2] andalso legal([Q | T]);
legal([_]) -> true.
