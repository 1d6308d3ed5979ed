%% Calls of every arity up to 30, frames with many live values, argument shuffles that need a
%% temporary.
-module(instr_calls).
-export([main/1, id/1, f0/0, f1/1, f9/9, f17/17, f30/30]).

main(_) ->
    io:format("~p~n", [[f0(), f1(a), ?MODULE:f9(1, 2, 3, 4, 5, 6, 7, 8, 9),
                        apply(?MODULE, f17, lists:seq(1, 17)),
                        apply(fun f30/30, lists:seq(1, 30))]]),
    io:format("~p~n", [f30(30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,
                           12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)]),
    io:format("~p~n", [cycle(a, b, c, d, e, 7)]),
    io:format("~p~n", [swap(1, 2)]),
    io:format("~p~n", [live40(id(1))]),
    io:format("~p~n", [interleaved([1, 2, 3], [a, b], #{}, {t})]),
    io:format("~p~n", [deep_expression(id(3))]),
    io:format("~p~n", [fib_pair(90)]),
    io:format("~p~n", [try apply(?MODULE, f17, lists:seq(1, 16)) catch error:undef -> undef end]),
    io:format("~p~n", [try apply(fun f30/30, [1]) catch error:{badarity, {_, [1]}} ->
                           badarity end]),
    io:format("~p~n",
              [try list_to_atom(integer_to_list(f9(1, 2, 3, 4, 5, 6, 7, 8, 9))) catch error:_ ->
                   e end]),
    io:format("~p~n", [erlang:apply(lists, foldl, [fun f2/2, [], "abc"])]).

f0() -> zero.
f1(A) -> {A}.
f2(A, B) -> [A | B].
f9(A, B, C, D, E, F, G, H, I) ->
    A * 2 + B * 3 + C * 5 + D * 7 + E * 11 + F * 13 + G * 17 + H * 19 + I * 23.
f17(A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q) ->
    {Q, P, O, N, M, L, K, J, I, H, G, F, E, D, C, B, A}.
f30(A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17, A18, A19, A20, A21,
    A22, A23, A24, A25, A26, A27, A28, A29, A30) ->
    [A30 - A1, A29, A28 * A2, A27, A26, A25, A24, {A23, A22, A21}, A20, A19, A18, A17, A16, A15,
     A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3].

cycle(A, B, C, D, E, 0) -> [A, B, C, D, E];
cycle(A, B, C, D, E, N) -> cycle(B, C, D, E, A, N - 1).
swap(A, B) -> swap2(B, A, A, B).
swap2(A, B, C, D) -> {A, B, C, D}.

live40(X) ->
    A = id(X + 1), B = id(A + 1), C = id(B + 1), D = id(C + 1), E = id(D + 1), F = id(E + 1),
    G = id(F + 1), H = id(G + 1), I = id(H + 1), J = id(I + 1),
    K = id(J + 1), L = id(K + 1), M = id(L + 1), N = id(M + 1), O = id(N + 1), P = id(O + 1),
    Q = id(P + 1), R = id(Q + 1), S = id(R + 1), T = id(S + 1),
    U = id({T}), V = id([U]), W = id(#{v => V}), Y = id(<<T>>), Z = id(T * 1.5),
    A1 = id(A * B), B1 = id(C * D), C1 = id(E * F), D1 = id(G * H), E1 = id(I * J), F1 = id(K * L),
    G1 = id(M * N), H1 = id(O * P), I1 = id(Q * R), J1 = id(S * T),
    [X, A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P, Q, R, S, T, U, V, W, Y, Z, A1, B1, C1, D1,
     E1, F1, G1, H1, I1, J1].

interleaved(A, B, C, D) ->
    L = length(id(A)), M = length(id(B)),
    C1 = maps:put(l, L, id(C)), T = setelement(1, id(D), M),
    R = [X + L || X <- A] ++ [Y || Y <- B, M > 1],
    {R, C1, T, A, B, C, D}.

deep_expression(X) ->
    ((X + id(1)) * (id(2) + X)) - ((id(X) - 1) * (X - id(2))) + lists:sum([X | [id(X)
            || _ <- id([a, b])]]) * tuple_size({X, id(X),
                                                {id(X)}}) - (case id(X) of 3 -> id(10);
                                                        _ -> id(20) end + if X > 2 -> id(5);
                                                                true -> 0 end).

fib_pair(0) -> {0, 1};
fib_pair(N) -> {A, B} = fib_pair(N - 1), {B, A + B}.
id(X) -> X.
