%% Long numbers: factorials, Fibonacci, powers, gcd, square roots, printing and reading them.
-module(arith_bignum).
-export([main/1]).

main(_) ->
    F100 = fact(100),
    io:format("~p~n", [F100]),
    F1000 = fact(1000),
    io:format("~p ~p~n", [length(integer_to_list(F1000)), erlang:phash2(F1000)]),
    1 = lists:foldl(fun(K, N) -> 0 = N rem K, N div K end, F1000, lists:seq(2, 1000)),
    io:format("~p~n", [fib(300)]),
    io:format("~p~n", [length(integer_to_list(fib(20000)))]),
    P = pow(3, 500), Q = pow(7, 300),
    io:format("~p~n~p~n", [P, Q]),
    io:format("~p ~p~n", [P div Q, P rem Q]),
    true = (P div Q) * Q + P rem Q =:= P,
    io:format("~p~n", [gcd(fact(60) * 10007, fact(40) * 10009)]),
    io:format("~p~n", [isqrt(pow(10, 101) * 2)]),
    io:format("~p~n", [powmod(3, pow(10, 60), pow(2, 127) - 1)]),
    lists:foreach(fun(Base) ->
                          Text = integer_to_list(-F100, Base),
                          true = list_to_integer(Text, Base) =:= -F100,
                          true = binary_to_integer(integer_to_binary(-F100, Base), Base) =:= -F100,
                          io:format("~s~n", [Text])
                  end, [2, 3, 8, 10, 16, 29, 36]),
    io:format("~p~n", [[compare(A, B) || A <- signs(P), B <- signs(Q)]]),
    io:format("~p~n",
              [lists:sort([P, -P, Q, -Q, 0, 1.0e200, -1.0e200, 1 bsl 70, (1 bsl 70) + 0.0])]),
    %% (a+b)^2 - (a-b)^2 = 4ab over a spread of lengths
    lists:foreach(fun({I, J}) ->
                          A = pow(3, I) - pow(2, J), B = pow(5, J) + pow(2, I),
                          true = (A + B) * (A + B) - (A - B) * (A - B) =:= 4 * A * B
                  end, [{I, J} || I <- lists:seq(0, 400, 37), J <- lists:seq(0, 400, 41)]),
    io:format("~p~n", [erlang:phash2([pow(N, N) || N <- lists:seq(1, 120)])]).

fact(0) -> 1;
fact(N) -> N * fact(N - 1).

fib(N) -> fib(N, 0, 1).
fib(0, A, _) -> A;
fib(N, A, B) -> fib(N - 1, B, A + B).

pow(_, 0) -> 1;
pow(X, N) when N band 1 =:= 0 -> H = pow(X, N bsr 1), H * H;
pow(X, N) -> X * pow(X, N - 1).

powmod(_, 0, _) -> 1;
powmod(X, N, M) when N band 1 =:= 0 -> powmod(X * X rem M, N bsr 1, M);
powmod(X, N, M) -> X * powmod(X, N - 1, M) rem M.

gcd(A, 0) -> A;
gcd(A, B) -> gcd(B, A rem B).

isqrt(N) -> isqrt(N, N).
isqrt(N, X) ->
    case (X + N div X) div 2 of
        Y when Y >= X -> X;
        Y -> isqrt(N, Y)
    end.

signs(N) -> [N, -N, N + 1, -N - 1].

compare(A, B) when A < B -> lt;
compare(A, B) when A > B -> gt;
compare(_, _) -> eq.
