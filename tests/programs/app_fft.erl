%% Fourier transform forward and back, a convolution by it, k-means and Newton's method on floats.
-module(app_fft).
-export([main/1]).

main(_) ->
    X = [{math:sin(I / 3.0) + I rem 3, 0.0} || I <- lists:seq(0, 63)],
    Y = fft(X, -1), Z = [{R / 64, I / 64} || {R, I} <- fft(Y, 1)],
    io:format("~p~n",
              [lists:max([abs(A - B) + abs(C - D)
                          || {{A, C}, {B, D}} <- lists:zip(X, Z)]) < 1.0e-9]),
    [io:format("~.6f ~.6f~n", [R + 0.0000001, I + 0.0000001]) || {R, I} <- lists:sublist(Y, 6)],
    io:format("~p~n", [multiply("123456789123456789", "987654321987654321")]),
    io:format("~p~n", [123456789123456789 * 987654321987654321]),
    Ps = [{(I * 37 rem 100) / 10 + 20 * (I rem 3), (I * 59 rem 100) / 10 - 15 * (I rem 3)}
          || I <- lists:seq(1, 90)],
    [io:format("~.4f ~.4f~n", [A, B])
     || {A, B} <- lists:sort(kmeans(Ps, lists:sublist(Ps, 3), 20))],
    io:format("~.12f~n", [newton(fun(V) -> V * V * V - 2 * V - 5 end, fun(V) -> 3 * V * V - 2 end,
                                 2.0, 20)]),
    io:format("~.9f~n", [simpson(fun(V) -> math:exp(-V * V) end, 0.0, 2.0, 200)]).

fft([X], _) -> [X];
fft(L, Sign) ->
    {E, O} = split(L), N = length(L),
    T = [begin A = Sign * 2 * math:pi() * K / N, C = math:cos(A), S = math:sin(A),
             {R * C - I * S, R * S + I * C} end
         || {K, {R, I}} <- lists:zip(lists:seq(0, N div 2 - 1), fft(O, Sign))],
    Es = fft(E, Sign),
    lists:zipwith(fun({A, B}, {C, D}) -> {A + C, B + D} end, Es,
                  T) ++ lists:zipwith(fun({A, B}, {C, D}) -> {A - C, B - D} end, Es, T).
split([A, B | T]) -> {X, Y} = split(T), {[A | X], [B | Y]};
split([]) -> {[], []}.

multiply(A, B) ->
    P = fun(S) -> D = [{float(C - $0), 0.0} || C <- lists:reverse(S)],
            D ++ lists:duplicate(64 - length(D), {0.0, 0.0}) end,
    C = fft(lists:zipwith(fun({R, I}, {S, J}) -> {R * S - I * J, R * J + I * S} end, fft(P(A), -1),
                          fft(P(B), -1)), 1),
    lists:foldr(fun({R, _}, Acc) -> Acc * 10 + round(R / 64) end, 0, C).

kmeans(_, Cs, 0) -> Cs;
kmeans(Ps, Cs, N) ->
    Groups = lists:foldl(fun(P, M) -> {_, K} = lists:min([{dist(P, C), I}
                                                          || {I, C} <- lists:zip(lists:seq(1,
                                                                  length(Cs)), Cs)]),
                             M#{K => [P | maps:get(K, M, [])]} end, #{}, Ps),
    kmeans(Ps, [mean(G) || {_, G} <- lists:sort(maps:to_list(Groups))], N - 1).
dist({A, B}, {C, D}) -> (A - C) * (A - C) + (B - D) * (B - D).
mean(Ps) ->
    {lists:sum([A || {A, _} <- Ps]) / length(Ps), lists:sum([B || {_, B} <- Ps]) / length(Ps)}.
newton(_, _, X, 0) -> X;
newton(F, D, X, N) -> newton(F, D, X - F(X) / D(X), N - 1).
simpson(F, A, B, N) -> H = (B - A) / N, H / 3 * lists:sum([W * F(A + I * H) || I <- lists:seq(0, N),
                                                           W <- [if I =:= 0; I =:= N -> 1;
                                                                   I rem 2 =:= 1 -> 4;
                                                                           true -> 2 end]]).
