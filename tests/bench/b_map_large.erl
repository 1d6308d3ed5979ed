%% Large maps: filled, read, updated, removed from, folded.
-module(b_map_large).
-define(REPEAT, 3).
-include("bench.hrl").

once() ->
    M = fill(50000, #{}),
    {sum(50000, M, 0), map_size(remove(25000, M)), maps:fold(fun(_, V, A) -> A + V end, 0,
                                                             bump(50000, M))}.

fill(0, M) -> M;
fill(N, M) -> fill(N - 1, M#{key(N) => N}).

key(N) when N rem 3 =:= 0 -> {N, x};
key(N) -> N * 7919.

sum(0, _, S) -> S;
sum(N, M, S) -> sum(N - 1, M, S + maps:get(key(N), M)).

bump(0, M) -> M;
bump(N, M) -> K = key(N), #{K := V} = M, bump(N - 1, M#{K := V + 1}).

remove(0, M) -> M;
remove(N, M) -> remove(N - 1, maps:remove(key(N), M)).
