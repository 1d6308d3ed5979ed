%% Integers against floats: exact beyond 2^53, infinite precision for bignums.
-module(float_compare).
-export([main/1, id/1]).

main(_) ->
    P53 = 1 bsl 53,
    Ns = [0, 1, -1, P53 - 1, P53, P53 + 1, P53 + 2, -P53 - 1, (1 bsl 59), (1 bsl 60) - 1,
          (1 bsl 63) - 1, 1 bsl 63, (1 bsl 64) - 1,
          1 bsl 64, (1 bsl 64) + 1, 1 bsl 200, (1 bsl 200) + 1, -(1 bsl 200), 1 bsl 1024,
          -(1 bsl 1024)],
    Fs = [0.0, 0.5, 1.0, -1.0, 9007199254740992.0, 9007199254740994.0, -9007199254740992.0,
          576460752303423488.0,
          1152921504606846976.0, 9223372036854775808.0, 18446744073709551616.0,
          1.6069380442589903e60,
          -1.6069380442589903e60, 1.7976931348623157e308, 5.0e-324, -5.0e-324],
    [io:format("~w ~w: ~p~n", [N, F, rel(N, F)]) || N <- Ns, F <- Fs],
    [io:format("~w ~w: ~p~n", [A, B, rel(A, B)]) || A <- Fs,
     B <- [0.0, 1.0, 5.0e-324, 9007199254740992.0]],
    io:format("~w~n", [lists:sort(Ns ++ Fs)]),
    io:format("~w~n", [lists:usort([1, 1.0, 2, 2.0, 1])]),
    io:format("~w~n", [lists:member(1.0, [1, 2]) ]),
    io:format("~w ~w~n", [lists:max([1, 1.0]), lists:max([1.0, 1])]),
    io:format("~w~n", [maps:to_list(#{1 => a, 1.0 => b})]).

rel(A, B) ->
    {A < B, A =< B, A == B, A =:= B, A /= B, A =/= B, A >= B, A > B}.

id(X) -> X.
