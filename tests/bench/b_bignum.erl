%% Factorials, Fibonacci numbers and powers far beyond a word; conversion to text.
-module(b_bignum).
-define(REPEAT, 29).
-include("bench.hrl").

once() ->
    F = fact(2000, 1), G = fib(20000, 0, 1), P = pow(3, 5000),
    {F rem 1000000007, G rem 1000000007, (F div P) rem 1000003, length(integer_to_list(G)),
     list_to_integer(integer_to_list(P)) =:= P}.

fact(0, Acc) -> Acc;
fact(N, Acc) -> fact(N - 1, Acc * N).

fib(0, A, _) -> A;
fib(N, A, B) -> fib(N - 1, B, A + B).

pow(_, 0) -> 1;
pow(X, N) when N band 1 =:= 0 -> H = pow(X, N bsr 1), H * H;
pow(X, N) -> X * pow(X, N - 1).
