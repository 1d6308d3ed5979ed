%% Comparison and equality of compound terms; sorting by them.
-module(b_compare).
-define(REPEAT, 6).
-include("bench.hrl").

once() ->
    L = [{N rem 50, [N rem 7, "key"], <<(N rem 11)>>, N / 2} || N <- lists:seq(1, 20000)],
    A = lists:sort(L), B = lists:keysort(3, L), C = lists:usort([{X, Y} || {X, Y, _, _} <- L]),
    Big = lists:seq(1, 100000), Same = lists:seq(1, 100000), Less = lists:seq(1, 99999) ++ [0],
    {hd(A), element(3, lists:last(B)), length(C), length([x || _ <- lists:seq(1, 10), Big =:= Same,
                                                          Big > Less, Big == Same])}.
