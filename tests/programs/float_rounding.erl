%% round, trunc, floor, ceil, float: halves, signs, large values, results that are bignums.
-module(float_rounding).
-export([main/1, id/1]).

main(_) ->
    Fs = [0.0, 0.4, 0.5, 0.6, 1.5, 2.5, 3.5, 0.49999999999999994, 4503599627370495.5,
          4503599627370496.5,
          9007199254740991.0, 576460752303423487.0, 576460752303423488.0, 1152921504606846976.0,
          9.3e18, 1.0e19,
          18446744073709551616.0, 1.0e22, 1.0e100, 1.0e308, 1.0e-10, 5.0e-324, 7],
    [io:format("~w ~w ~w ~w ~w~n", [F, round(F), trunc(F), floor(F), ceil(F)]) || G <- Fs,
     F <- [G, -G]],
    [io:format("~w ~w~n", [N, float(N)]) || N <- [0, 1, -1, (1 bsl 53) + 1, (1 bsl 59),
                                                  (1 bsl 60) - 1, 1 bsl 64, (1 bsl 64) + 2049,
                                                 (1 bsl 64) + 2048, (1 bsl 65) + 6144,
                                                 -(1 bsl 100) - 1, 1 bsl 1023,
                                                 (1 bsl 1024) - (1 bsl 970) - 1]],
    [io:format("~p~n", [error_of(fun() -> float(N) end)])
     || N <- [(1 bsl 1024) - (1 bsl 970), 1 bsl 1024, a, "1"]],
    [io:format("~p~n", [error_of(fun() -> F(V) end)]) || F <- [fun erlang:round/1,
                                                               fun erlang:trunc/1,
                                                               fun erlang:floor/1,
                                                               fun erlang:ceil/1],
     V <- [a, "x", {}]],
    io:format("~p~n", [[X || X <- [1.0, 1, 2.5, a], is_float(X)]]),
    io:format("~p~n", [guarded([0.5, 1.5, -3.7, 12, a, 1.0e30])]).

guarded(Xs) -> [kind(X) || X <- Xs].
kind(X) when trunc(X) =:= 12 -> twelve;
kind(X) when round(X) =:= 2 -> rounds_to_two;
kind(X) when floor(X) < -3 -> low;
kind(X) when ceil(X) =:= 1 -> one;
kind(X) when float(X) > 1.0e20 -> large;
kind(_) -> other.

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
