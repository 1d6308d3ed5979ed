%% Processes that start, answer once and die.
-module(b_spawn).
-define(REPEAT, 4).
-include("bench.hrl").

once() ->
    Self = self(),
    loop(Self, 20000, 0) + batch(Self, 20000).

loop(_, 0, S) -> S;
loop(Self, N, S) ->
    spawn(fun() -> Self ! {n, N} end), receive {n, M} -> loop(Self, N - 1, S + M) end.

batch(Self, K) ->
    [spawn(fun() -> Self ! {b, N} end) || N <- lists:seq(1, K)],
    collect(K, 0).

collect(0, S) -> S;
collect(K, S) -> receive {b, N} -> collect(K - 1, S + N) end.
