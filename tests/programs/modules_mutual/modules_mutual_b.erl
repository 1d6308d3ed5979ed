-module(modules_mutual_b).
-my_attribute([1, two, "three"]).
-export([odd/1, twice/2, adders/1, call_back/3, record/1, worker/2]).

-record(r, {a, b = default}).

odd(0) -> false;
odd(N) -> modules_mutual:even(N - 1).

twice(F, X) -> modules_mutual:apply_twice(F, X).

adders(Ns) -> [fun(X) -> X + N end || N <- Ns].

call_back(M, F, A) ->
    R = M:F(A),
    {called, R}.

record(A) -> #r{a = A}.

worker(To, N) -> To ! {worked, lists:seq(1, N)}.
