%% Matrix product on lists of rows and on tuples, with integers.
-module(b_matrix).
-define(REPEAT, 26).
-include("bench.hrl").

once() ->
    N = 90,
    A = [[(I * J) rem 100 || J <- lists:seq(1, N)] || I <- lists:seq(1, N)],
    B = mul(A, A),
    T = list_to_tuple([list_to_tuple(R) || R <- A]),
    {erlang:phash2(B), trace(T, N, 1, 0)}.

mul(A, B) -> Cols = transpose(B), [[dot(R, C, 0) || C <- Cols] || R <- A].

transpose([[] | _]) -> [];
transpose(M) -> [[hd(R) || R <- M] | transpose([tl(R) || R <- M])].

dot([], [], S) -> S;
dot([A | As], [B | Bs], S) -> dot(As, Bs, S + A * B).

trace(_, N, I, S) when I > N -> S;
trace(T, N, I, S) -> trace(T, N, I + 1, S + inner(T, I, N, N, N, 0)).

inner(_, _, 0, _, _, S) -> S;
inner(T, I, J, 0, N, S) -> inner(T, I, J - 1, N, N, S);
inner(T, I, J, K, N, S) ->
    inner(T, I, J, K - 1, N, S + element(K, element(I, T)) * element(J, element(K, T))).
