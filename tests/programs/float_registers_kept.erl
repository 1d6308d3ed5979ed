%% More float registers than a machine has, values that live across collections and failures, and results
%% that are not finite in each operation.
-module(float_registers_kept).
-export([main/1]).

main(_) ->
    io:format("~w~n", [many(1.5, 2.5, 3.5, 4.5)]),
    io:format("~w~n", [[loop(N, 0.5, 1.0e-3, []) || N <- [0, 1, 10, 1000]]]),
    io:format("~w~n", [[try F(X, Y) catch error:E:T -> {E, element(2, hd(T))} end
                        || F <- [fun add/2, fun subtract/2, fun times/2, fun over/2, fun mixed/2],
                           X <- [1, 1.0, 1.7976931348623157e308, 1 bsl 900, 1 bsl 1100, a],
                           Y <- [0, 0.0, -1.7976931348623157e308, 5.0e-324, 3, 1 bsl 62]]]),
    io:format("~w~n", [[negated(X) || X <- [1.5, 1.0e300, 5.0e-324]]]),
    io:format("~w~n", [boxed(lists:seq(1, 40), 1.0e100, [])]).

many(A, B, C, D) ->
    P1 = A + B, P2 = A - B, P3 = A * B, P4 = A / B,
    Q1 = C + D, Q2 = C - D, Q3 = C * D, Q4 = C / D,
    R1 = P1 * Q4, R2 = P2 * Q3, R3 = P3 * Q2, R4 = P4 * Q1,
    S1 = R1 + R2 + R3 + R4 + P1 + P2 + P3 + P4 + Q1 + Q2 + Q3 + Q4,
    S2 = ((R1 - R2) * (R3 - R4)) / ((P1 - P2) * (Q1 - Q2)),
    {S1, S2, [R1, R2, R3, R4], {P1, Q1, S1 - S2, S2 - S1, A - S2, S2 / A, -S1}}.

%% Every round makes terms, so that collections come between the operations.
loop(0, X, Y, Acc) -> {X, Y, length(Acc)};
loop(N, X, Y, Acc) ->
    A = X * 1.0001 + Y,
    T = {A, X, Y, [A | X]},
    B = A - Y / 3,
    U = [T, B, {A, B, N * 1.0}],
    C = B * 0.75 + N,
    loop(N - 1, A, if C > 0.0 -> Y * 1.01; true -> Y end, [U | Acc]).

add(X, Y) -> X * 1.0 + Y + 0.5.
subtract(X, Y) -> 1.0 * X - Y - 0.5.
times(X, Y) -> X * 2.0 * Y.
over(X, Y) -> 1.0 / (X / (Y * 1.0)).
mixed(X, Y) -> Z = Y + 1.0, W = X - Z, {Z, Z * W - W * Z, Z - Z / W}.

negated(X) -> Y = X * 2.0, {-Y, -(-Y), 0.0 - Y}.

boxed([], _, Acc) -> Acc;
boxed([N | Rest], X, Acc) ->
    Y = X * 1.0e3,
    boxed(Rest, Y / 1.0e-1 - N, [Y, X + Y | Acc]).
