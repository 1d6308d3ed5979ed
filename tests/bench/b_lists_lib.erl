%% The same with funs through the lists module.
-module(b_lists_lib).
-define(REPEAT, 15).
-include("bench.hrl").

once() ->
    L = lists:seq(1, 200000),
    M = lists:map(fun(X) -> X * 3 end, lists:reverse(L)),
    F = lists:filter(fun(X) -> X rem 2 =:= 0 end, M),
    lists:foldl(fun(X, S) -> X + S end, 0, F) + length([X || X <- F, X > 1000]).
