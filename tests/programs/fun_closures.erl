%% Closures: captured values, counters, currying, recursion through names, funs in data.
-module(fun_closures).
-export([main/1, id/1]).

main(_) ->
    Add = fun(A) -> fun(B) -> fun(C) -> {A, B, C, A + B + C} end end end,
    io:format("~p~n", [((Add(1))(2))(3)]),
    Fact = fun F(0) -> 1; F(N) -> N * F(N - 1) end,
    io:format("~p~n", [Fact(30)]),
    Y = fun(F) ->
            (fun(X) -> F(fun(A) -> (X(X))(A) end) end)(fun(X) ->
                                                           F(fun(A) -> (X(X))(A) end) end) end,
    io:format("~p~n", [(Y(fun(Self) -> fun(0) -> 0; (N) -> N + Self(N - 1) end end))(100)]),
    Compose = fun(Fs) -> lists:foldl(fun(F, G) -> fun(X) -> F(G(X)) end end, fun(X) -> X end,
                                     Fs) end,
    io:format("~p~n",
              [(Compose([fun(X) -> X + 1 end, fun(X) -> X * 10 end, fun integer_to_list/1,
                         fun length/1]))(9999)]),
    [A, B, C, D, E, F, G, H, I, J] = [id(N) || N <- lists:seq(1, 10)],
    Many = fun(X) ->
               A + B * 2 + C * 3 + D * 4 + E * 5 + F * 6 + G * 7 + H * 8 + I * 9 + J * 10 + X end,
    io:format("~p~n", [Many(1000)]),
    io:format("~p~n", [[Fun(5) || Fun <- [fun(X) when X > N -> {gt, N}; (X) -> {le, X, N} end
                                          || N <- [3, 5, 7]]]]),
    Church = fun(N) -> fun(S, Z) -> lists:foldl(fun(_, Acc) -> S(Acc) end, Z,
                                                lists:seq(1, N)) end end,
    io:format("~p~n", [(Church(12))(fun(X) -> X * 2 end, 1)]),
    Stream = integers(1),
    io:format("~p~n", [take(10, filter(fun(X) -> X rem 3 =:= 1 end, Stream))]),
    io:format("~p~n", [take(12, primes())]),
    M = #{double => fun(X) -> 2 * X end, square => fun(X) -> X * X end},
    io:format("~p~n", [[(maps:get(K, M))(7) || K <- [double, square]]]),
    Shadow = fun(A) -> A end,
    io:format("~p~n", [Shadow(shadowed)]),
    Big = [fun() -> {N, lists:seq(1, N)} end || N <- lists:seq(1, 200)],
    io:format("~p~n", [lists:sum([lists:sum(element(2, Fn())) || Fn <- Big])]),
    Parent = self(),
    spawn(fun() -> Parent ! {result, Many(0), (Add(A))(B)} end),
    receive {result, R, Rest} -> io:format("~p ~p~n", [R, Rest(3)]) end.

integers(N) -> fun() -> {N, integers(N + 1)} end.

filter(P, S) ->
    fun() ->
            {X, T} = S(),
            case P(X) of
                true -> {X, filter(P, T)};
                false -> (filter(P, T))()
            end
    end.

primes() -> sieve(integers(2)).
sieve(S) -> fun() -> {P, T} = S(), {P, sieve(filter(fun(X) -> X rem P =/= 0 end, T))} end.

take(0, _) -> [];
take(N, S) -> {X, T} = S(), [X | take(N - 1, T)].
id(X) -> X.
