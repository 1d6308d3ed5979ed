%% Primes: sieve in a list, in an array, with maps; Miller-Rabin on long numbers; factoring.
-module(app_primes).
-export([main/1]).

main(_) ->
    L = trial(500),
    io:format("~p~n", [L]),
    io:format("~p ~p~n", [L =:= sieve(lists:seq(2, 500)), L =:= with_map(500)]),
    io:format("~p~n", [length(with_map(20000))]),
    io:format("~p~n", [[N || N <- lists:seq(1, 500), prime(N)] =:= L]),
    Ms = [P || P <- [2, 3, 5, 7, 11, 13, 17, 19, 23, 31, 61, 67, 89, 107, 127, 521],
          prime((1 bsl P) - 1)],
    io:format("~p~n", [Ms]),
    io:format("~p~n", [[{N, factor(N)} || N <- [1, 2, 12, 97, 360360, 1234567890, 600851475143,
                                                1 bsl 40, 10000000019, 1000003 * 1000033]]]),
    io:format("~p~n", [next(1 bsl 80)]),
    io:format("~p~n", [[N || N <- lists:seq(2, 10000), perfect(N)]]).

trial(N) ->
    lists:reverse(lists:foldl(fun(X, Ps) -> case lists:any(fun(P) -> X rem P =:= 0 end,
                                                           Ps) of true -> Ps;
                                                false -> [X | Ps] end end, [], lists:seq(2, N))).
sieve([P | T]) -> [P | sieve([X || X <- T, X rem P =/= 0])];
sieve([]) -> [].
with_map(N) -> with_map(2, N, #{}).
with_map(I, N, _) when I > N -> [];
with_map(I, N, M) ->
    case M of
        #{I := Ps} -> with_map(I + 1, N,
                               lists:foldl(fun(P, A) ->
                                               A#{I + P => [P | maps:get(I + P, A, [])]} end,
                                           maps:remove(I, M), Ps));
        _ -> [I | with_map(I + 1, N, M#{I * I => [I | maps:get(I * I, M, [])]})]
    end.

prime(N) when N < 2 -> false;
prime(N) when N < 4 -> true;
prime(N) when N rem 2 =:= 0 -> false;
prime(N) -> {S, D} = split(N - 1, 0),
    lists:all(fun(A) -> A rem N =:= 0 orelse witness(powmod(A, D, N), S, N) end,
              [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37]).
split(D, S) when D rem 2 =:= 0 -> split(D div 2, S + 1);
split(D, S) -> {S, D}.
witness(X, _, N) when X =:= 1; X =:= N - 1 -> true;
witness(_, 1, _) -> false;
witness(X, S, N) -> case X * X rem N of Y when Y =:= N - 1 -> true; Y -> witness(Y, S - 1, N) end.
powmod(_, 0, _) -> 1;
powmod(B, E, M) when E band 1 =:= 1 -> B * powmod(B, E - 1, M) rem M;
powmod(B, E, M) -> powmod(B * B rem M, E bsr 1, M).
next(N) -> case prime(N) of true -> N; false -> next(N + 1) end.

factor(N) -> factor(N, 2).
factor(1, _) -> [];
factor(N, P) when P * P > N -> [N];
factor(N, P) when N rem P =:= 0 -> [P | factor(N div P, P)];
factor(N, P) -> factor(N, P + 1).

perfect(N) -> sum_div(N, 2, 1) =:= N.
sum_div(N, I, S) when I * I > N -> S;
sum_div(N, I, S) when I * I =:= N -> S + I;
sum_div(N, I, S) when N rem I =:= 0 -> sum_div(N, I + 1, S + I + N div I);
sum_div(N, I, S) -> sum_div(N, I + 1, S).
