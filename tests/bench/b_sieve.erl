%% A sieve of Eratosthenes on a map, on a list, and on an array.
-module(b_sieve).
-define(REPEAT, 20).
-include("bench.hrl").

once() -> {length(sieve(lists:seq(2, 6000))),
           count(array:to_list(mark(2, array:new(20001, [{default, true}])))),
           length(incremental(2, 8000, #{}))}.

sieve([P | T]) -> [P | sieve([X || X <- T, X rem P =/= 0])];
sieve([]) -> [].

mark(P, A) when P * P > 20000 -> A;
mark(P, A) -> case array:get(P, A) of true -> mark(P + 1, multiples(P * P, P, A));
                  false -> mark(P + 1, A) end.
multiples(M, _, A) when M > 20000 -> A;
multiples(M, P, A) -> multiples(M + P, P, array:set(M, false, A)).
count(L) -> length([x || true <- L]).

incremental(N, Max, _) when N > Max -> [];
incremental(N, Max, M) ->
    case maps:take(N, M) of
        {Ps, M1} -> incremental(N + 1, Max,
                                lists:foldl(fun(P, A) ->
                                                maps:update_with(N + P, fun(L) -> [P | L] end, [P],
                                                        A) end, M1, Ps));
        error -> [N | incremental(N + 1, Max, M#{N * N => [N]})]
    end.
