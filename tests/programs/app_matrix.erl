%% Matrices as lists of rows and as tuples: product, transpose, determinant exact and by floats,
%% inverse.
-module(app_matrix).
-export([main/1]).

main(_) ->
    A = [[1, 2, 3], [4, 5, 6], [7, 8, 10]], B = [[2, 0, 1], [1, 1, 0], [3, 2, 1]],
    io:format("~p~n~p~n~p~n", [mul(A, B), transpose(A), det(A)]),
    io:format("~p~n", [power(B, 50)]),
    io:format("~p~n", [[[lists:flatten(io_lib:format("~.4f", [X])) || X <- R] || R <- inverse(A)]]),
    H = [[frac(1, I + J - 1) || J <- lists:seq(1, 6)] || I <- lists:seq(1, 6)],
    io:format("~p~n", [det_frac(H)]),
    N = 40,
    X = [[(I * J) rem 11 - 5 || J <- lists:seq(1, N)] || I <- lists:seq(1, N)],
    io:format("~p ~p~n", [erlang:phash2(mul(X, X)), erlang:phash2(mul(X, transpose(X)))]),
    T = list_to_tuple([list_to_tuple(R) || R <- X]),
    io:format("~p~n", [mul_tuples(T, T, N) =:= mul(X, X)]),
    io:format("~p~n",
              [det([[(I * I + J * 3 + I * J) rem 17 || J <- lists:seq(1, 7)]
                    || I <- lists:seq(1, 7)])]).

mul(A, B) -> Bt = transpose(B), [[dot(R, C) || C <- Bt] || R <- A].
dot(R, C) -> lists:sum(lists:zipwith(fun(X, Y) -> X * Y end, R, C)).
transpose([[] | _]) -> [];
transpose(M) -> [[hd(R) || R <- M] | transpose([tl(R) || R <- M])].
power(M, 1) -> M;
power(M, N) when N rem 2 =:= 0 -> H = power(M, N div 2), mul(H, H);
power(M, N) -> mul(M, power(M, N - 1)).
det([[X]]) -> X;
det([Row | Rest]) -> det(Row, Rest, 1, [], 0).
det([], _, _, _, Sum) -> Sum;
det([X | T], Rest, Sign, Before, Sum) ->
    Minor = [minor(R, length(Before)) || R <- Rest],
    det(T, Rest, -Sign, [X | Before], Sum + Sign * X * det(Minor)).
minor([_ | T], 0) -> T;
minor([H | T], N) -> [H | minor(T, N - 1)].

inverse(M) ->
    N = length(M),
    Aug = [[float(X) || X <- R] ++ [case I =:= J of true -> 1.0; false -> 0.0 end
                                    || J <- lists:seq(1, N)]
           || {I, R} <- lists:zip(lists:seq(1, N), M)],
    [lists:nthtail(N, R) || R <- gauss(Aug, 1, N)].
gauss(M, I, N) when I > N -> M;
gauss(M, I, N) ->
    {Above, Below} = lists:split(I - 1, M),
    [P | Others] = lists:sort(fun(A, B) -> abs(lists:nth(I, A)) >= abs(lists:nth(I, B)) end, Below),
    Pv = lists:nth(I, P), Pn = [X / Pv || X <- P],
    Clear = fun(R) -> F = lists:nth(I, R), lists:zipwith(fun(X, Y) -> X - F * Y end, R, Pn) end,
    gauss([Clear(R) || R <- Above] ++ [Pn] ++ [Clear(R) || R <- Others], I + 1, N).

frac(A, B) -> G = gcd(abs(A), abs(B)), {A div G, B div G}.
gcd(A, 0) -> A;
gcd(A, B) -> gcd(B, A rem B).
det_frac([]) -> {1, 1};
det_frac([[P | Pr] | Rest]) ->
    Sub = [[sub(X, mulf(divf(F, P), Y)) || {X, Y} <- lists:zip(R, Pr)] || [F | R] <- Rest],
    mulf(P, det_frac(Sub)).
sub({A, B}, {C, D}) -> frac(A * D - C * B, B * D).
mulf({A, B}, {C, D}) -> frac(A * C, B * D).
divf({A, B}, {C, D}) when C < 0 -> frac(-A * D, -C * B);
divf({A, B}, {C, D}) -> frac(A * D, B * C).

mul_tuples(A, B, N) -> S = lists:seq(1, N), [[sum(A, B, I, J, N, 0) || J <- S] || I <- S].
sum(_, _, _, _, 0, Acc) -> Acc;
sum(A, B, I, J, K, Acc) ->
    sum(A, B, I, J, K - 1, Acc + element(K, element(I, A)) * element(J, element(K, B))).
