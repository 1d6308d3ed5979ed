%% From OTP 27 on the compiler hands the context of a match on to a function that asks whether it is a bit string.
-module(context_is_bitstring).
-export([main/1]).

main(_) ->
    [io:format("~p ~p ~p~n", [T, caught(fun() -> head(T) end), caught(fun() -> bytes(T) end)])
     || T <- [<<42>>, <<>>, <<1, 2>>, <<1:3>>, <<1, 2:4>>, a, [], #{}, 1.5, {}]],
    [io:format("~p ~p~n", [T, caught(fun() -> rest(T) end)]) || T <- [<<1, 2, 3>>, <<1, 5, 6>>, <<2, 7:4>>, <<1>>, b]].

head(<<_:8>>) -> ok;
head(A) ->
    try
        << (ok) || <<_:ok>> <= A >>
    after
        ok
    end.

bytes(<<_:16>>) -> two;
bytes(A) ->
    try
        [B || <<B:8>> <= A]
    after
        ok
    end.

rest(<<1, 2, _/binary>>) -> found;
rest(<<_, Rest/binary>>) ->
    try
        [B || <<B:4>> <= Rest]
    after
        ok
    end;
rest(Other) ->
    << <<B>> || <<B>> <= Other >>.

caught(F) ->
    try F() catch C:R -> {C, R} end.
