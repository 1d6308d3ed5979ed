%% Closures made, composed and called; lazy streams.
-module(b_closures).
-define(REPEAT, 20).
-include("bench.hrl").

once() -> {compose(50000), stream(30000), cps(fun(X) -> X end, 100000)}.

compose(N) ->
    (lists:foldl(fun(K, F) -> fun(X) -> F(X + K) end end, fun(X) -> X end, lists:seq(1, N)))(0).

stream(N) -> sum(N, filter(fun(X) -> X rem 3 =/= 0 end, map(fun(X) -> X * X end, from(1))), 0).
from(N) -> fun() -> [N | from(N + 1)] end.
map(F, S) -> fun() -> [H | T] = S(), [F(H) | map(F, T)] end.
filter(P, S) -> fun() -> [H | T] = S(), case P(H) of true -> [H | filter(P, T)];
                                            false -> (filter(P, T))() end end.
sum(0, _, A) -> A;
sum(N, S, A) -> [H | T] = S(), sum(N - 1, T, A + H).

cps(K, 0) -> K(0);
cps(K, N) -> cps(fun(R) -> K(R + N) end, N - 1).
