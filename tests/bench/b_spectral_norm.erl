%% Float sums over computed matrix entries.
-module(b_spectral_norm).
-define(REPEAT, 7).
-include("bench.hrl").

once() ->
    N = 160,
    {U, V} = power(10, N, lists:duplicate(N, 1.0), []),
    trunc(math:sqrt(dot(U, V, 0.0) / dot(V, V, 0.0)) * 1.0e9).

power(0, _, U, V) -> {U, V};
power(K, N, U, _) -> V = at_av(N, U), power(K - 1, N, at_av(N, V), V).

at_av(N, V) -> mul(0, N, fun t/2, mul(0, N, fun a/2, V)).

mul(N, N, _, _) -> [];
mul(I, N, F, V) -> [row(I, 0, F, V, 0.0) | mul(I + 1, N, F, V)].

row(_, _, _, [], S) -> S;
row(I, J, F, [X | T], S) -> row(I, J + 1, F, T, S + F(I, J) * X).

a(I, J) -> 1 / ((I + J) * (I + J + 1) / 2 + I + 1).
t(I, J) -> a(J, I).

dot([], [], S) -> S;
dot([A | As], [B | Bs], S) -> dot(As, Bs, S + A * B).
