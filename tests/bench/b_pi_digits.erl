%% Digits of pi: additions, products and divisions of growing bignums.
-module(b_pi_digits).
-define(REPEAT, 10).
-include("bench.hrl").

once() -> pi(1, 0, 1, 1, 3, 3, 600).

pi(_, _, _, _, _, _, 0) -> [];
pi(Q, R, T, K, N, L, Left) when 4 * Q + R - T < N * T ->
    [N | pi(10 * Q, 10 * (R - N * T), T, K, (10 * (3 * Q + R)) div T - 10 * N, L, Left - 1)];
pi(Q, R, T, K, _, L, Left) ->
    pi(Q * K, (2 * Q + R) * L, T * L, K + 1, (Q * (7 * K + 2) + R * L) div (T * L), L + 2, Left).
