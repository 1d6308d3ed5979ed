%% All placements of nine queens with lists.
-module(b_queens).
-define(REPEAT, 92).
-include("bench.hrl").

once() -> length(queens(9, 9)).

queens(_, 0) -> [[]];
queens(N, K) -> [[Q | B] || B <- queens(N, K - 1), Q <- lists:seq(1, N), safe(Q, 1, B)].

safe(_, _, []) -> true;
safe(Q, D, [H | T]) -> Q =/= H andalso Q - H =/= D andalso H - Q =/= D andalso safe(Q, D + 1, T).
