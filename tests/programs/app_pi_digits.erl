%% Digits of pi by Gibbons' spigot, of e by series, of sqrt(2) by Newton, all in long integers.
-module(app_pi_digits).
-export([main/1]).

main(_) ->
    io:format("~s~n", [pi(500)]),
    io:format("~p~n", [machin(300)]),
    io:format("~p~n", [e(200)]),
    io:format("~p~n", [sqrt2(200)]).

pi(N) -> [D + $0 || D <- pi(1, 0, 1, 1, 3, 3, N)].
pi(_, _, _, _, _, _, 0) -> [];
pi(Q, R, T, K, N, L, Left) when 4 * Q + R - T < N * T ->
    [N | pi(10 * Q, 10 * (R - N * T), T, K, (10 * (3 * Q + R)) div T - 10 * N, L, Left - 1)];
pi(Q, R, T, K, _, L, Left) ->
    pi(Q * K, (2 * Q + R) * L, T * L, K + 1, (Q * (7 * K + 2) + R * L) div (T * L), L + 2, Left).

machin(N) -> One = pow(10, N + 10), (4 * (4 * arccot(5, One) - arccot(239, One))) div pow(10, 10).
arccot(X, One) -> arccot(X * X, One div X, 1, 1, 0).
arccot(_, 0, _, _, Sum) -> Sum;
arccot(X2, P, N, S, Sum) -> arccot(X2, P div X2, N + 2, -S, Sum + S * (P div N)).

e(N) -> One = pow(10, N + 5), e(One, 1, One) div pow(10, 5).
e(0, _, Sum) -> Sum;
e(Term, K, Sum) -> T = Term div K, e(T, K + 1, Sum + T).

sqrt2(N) -> X = 2 * pow(100, N), newton(X, X).
newton(X, G) -> case (G + X div G) div 2 of H when H >= G -> G; H -> newton(X, H) end.

pow(_, 0) -> 1;
pow(B, N) when N rem 2 =:= 0 -> H = pow(B, N div 2), H * H;
pow(B, N) -> B * pow(B, N - 1).
