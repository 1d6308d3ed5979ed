%% Positions that are no small integers to OTP (60 bits) are no positions.
-module(lists_key_position).
-export([start/0]).

start() ->
    [io:format("~p ~p ~0p: ~0p~n", [F, N, List, try lists:F(a, N, List) catch error:E -> E end])
     || F <- [keyfind, keymember, keysearch],
        N <- [-1, 0, 1, 2, 1 bsl 58, 1 bsl 59 - 1, 1 bsl 59, 1 bsl 60, 1 bsl 64, a, 1.0],
        List <- [[], [{a, 1}], [b], [{a} | x], x]],
    [io:format("element ~p: ~0p~n", [N, try element(N, {a}) catch error:E -> E end])
     || N <- [1 bsl 59 - 1, 1 bsl 59, 1 bsl 60]],
    ok.
