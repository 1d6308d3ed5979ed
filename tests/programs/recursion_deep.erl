%% Deep non-tail recursion, endless tail recursion, mutual recursion, many arguments and registers.
-module(recursion_deep).
-export([main/1, id/1]).

main(_) ->
    io:format("~p~n", [count(1000000)]),
    io:format("~p~n", [loop(3000000, 0)]),
    io:format("~p~n", [{even(100001), odd(100001)}]),
    io:format("~p~n", [length(build(500000))]),
    io:format("~p~n", [ack(2, 300)]),
    io:format("~p~n", [tak(14, 10, 4)]),
    io:format("~p~n", [many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                            50)]),
    io:format("~p~n", [hofstadter(60)]),
    io:format("~p~n", [collatz(27, 0)]),
    io:format("~p~n", [depth_in_processes([10, 1000, 100000, 300000])]),
    io:format("~p~n", [frame(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)]),
    io:format("~p~n", [try count_to_error(100000) catch error:{deep, N} -> N end]).

count(0) -> 0;
count(N) -> 1 + count(N - 1).

loop(0, Acc) -> Acc;
loop(N, Acc) -> loop(N - 1, Acc + N band 3).

even(0) -> true;
even(N) -> odd(N - 1).
odd(0) -> false;
odd(N) -> even(N - 1).

build(0) -> [];
build(N) -> [{N, [N]} | build(N - 1)].

ack(0, N) -> N + 1;
ack(M, 0) -> ack(M - 1, 1);
ack(M, N) -> ack(M - 1, ack(M, N - 1)).

tak(X, Y, Z) when Y >= X -> Z;
tak(X, Y, Z) -> tak(tak(X - 1, Y, Z), tak(Y - 1, Z, X), tak(Z - 1, X, Y)).

%% rotates twenty arguments, which all live in X registers
many(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, 0) ->
    [A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T];
many(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, Left) ->
    many(T, A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, Left - 1).

hofstadter(N) -> [q(I) || I <- lists:seq(1, 20)] ++ [g(N)].
q(N) when N < 3 -> 1;
q(N) -> q(N - q(N - 1)) + q(N - q(N - 2)).
g(0) -> 0;
g(N) -> N - g(g(N - 1)).

collatz(1, Steps) -> Steps;
collatz(N, Steps) when N rem 2 =:= 0 -> collatz(N div 2, Steps + 1);
collatz(N, Steps) -> collatz(3 * N + 1, Steps + 1).

depth_in_processes(Depths) ->
    Parent = self(),
    [spawn(fun() -> Parent ! {D, count(D)} end) || D <- Depths],
    [receive {D, R} -> R end || D <- Depths].

%% ten values live across ten calls
frame(A, B, C, D, E, F, G, H, I, J) ->
    A1 = id(A), B1 = id(B), C1 = id(C), D1 = id(D), E1 = id(E), F1 = id(F), G1 = id(G), H1 = id(H),
    I1 = id(I), J1 = id(J),
    {A1, B1, C1, D1, E1, F1, G1, H1, I1, J1, A + J, B * I, [C1 | D1], {E, F1}, G1 - H}.

count_to_error(0) -> error({deep, id(0)});
count_to_error(N) -> 1 + count_to_error(N - 1).
id(X) -> X.
