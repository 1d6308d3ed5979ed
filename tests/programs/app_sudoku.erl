%% Sudoku by constraint propagation and search over maps of candidate sets.
-module(app_sudoku).
-export([main/1]).

main(_) ->
    Puzzles = ["530070000600195000098000060800060003400803001700020006060000280000419005000080079",
               "000000907000420180000705026100904000050000040000507009920108000034059000507000000",
               "4.....8.5.3..........7......2.....6.....8.4......1.......6.3.7.5..2.....1.4......",
               "11..............................................................................."],
    lists:foreach(fun(P) ->
                          case solve(P) of
                              false -> io:format("no solution~n~n");
                              S -> show(S), true = valid(S)
                          end
                  end, Puzzles).

cells() -> [{R, C} || R <- lists:seq(0, 8), C <- lists:seq(0, 8)].

solve(Text) ->
    Start = maps:from_list([{X, lists:seq(1, 9)} || X <- cells()]),
    Given = [{X, D - $0} || {X, D} <- lists:zip(cells(), Text), D >= $1, D =< $9],
    search(assign_all(Given, Start)).

assign_all(_, false) -> false;
assign_all([], M) -> M;
assign_all([{X, D} | T], M) -> assign_all(T, assign(X, D, M)).

assign(X, D, M) -> eliminate_all([{X, E} || E <- maps:get(X, M), E =/= D], M).

eliminate_all(_, false) -> false;
eliminate_all([], M) -> M;
eliminate_all([{X, D} | T], M) -> eliminate_all(T, eliminate(X, D, M)).

eliminate(X, D, M) ->
    Old = maps:get(X, M),
    case lists:member(D, Old) of
        false -> M;
        true ->
            case lists:delete(D, Old) of
                [] -> false;
                [Only] -> eliminate_all([{P, Only} || P <- peers(X)], M#{X := [Only]});
                New -> M#{X := New}
            end
    end.

peers({R, C} = X) ->
    lists:usort([{R, K} || K <- lists:seq(0, 8)] ++ [{K, C} || K <- lists:seq(0, 8)] ++
                [{R div 3 * 3 + I, C div 3 * 3 + J} || I <- [0, 1, 2], J <- [0, 1, 2]]) -- [X].

search(false) -> false;
search(M) ->
    case lists:sort([{length(Ds), X} || {X, Ds} <- maps:to_list(M), length(Ds) > 1]) of
        [] -> M;
        [{_, X} | _] -> try_each(X, maps:get(X, M), M)
    end.

try_each(_, [], _) -> false;
try_each(X, [D | T], M) ->
    case search(assign(X, D, M)) of
        false -> try_each(X, T, M);
        S -> S
    end.

show(S) ->
    [begin
         [io:format("~p", [hd(maps:get({R, C}, S))]) || C <- lists:seq(0, 8)], io:nl()
     end || R <- lists:seq(0, 8)],
    io:nl().

valid(S) ->
    Nine = lists:seq(1, 9),
    Units = [[{R, C} || C <- lists:seq(0, 8)]
             || R <- lists:seq(0, 8)] ++ [[{R, C} || R <- lists:seq(0, 8)] || C <- lists:seq(0, 8)],
    lists:all(fun(U) -> lists:sort([hd(maps:get(X, S)) || X <- U]) =:= Nine end, Units).
