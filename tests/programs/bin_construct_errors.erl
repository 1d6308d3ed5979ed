%% Which of several wrong segments is the one that the exception names.
-module(bin_construct_errors).
-export([main/1, id/1]).

main(_) ->
    lists:foreach(fun t/1, integers() ++ utf32() ++ floats() ++ binaries()).

id(X) -> X.

t(F) ->
    try F() of
        Value -> io:format("~p~n", [Value])
    catch
        error:Reason:Stack ->
            [{_, _, _, Info} | _] = Stack,
            #{cause := Cause} = proplists:get_value(error_info, Info),
            io:format("~p ~p~n", [Reason, Cause])
    end.

integers() ->
    A = id(a), B = id(b), Minus = id(-1),
    [fun() -> <<A:8, B/utf8>> end, fun() -> <<A:8, B/utf16>> end, fun() -> <<A:8, B/float>> end,
     fun() -> <<A:8, B/binary>> end, fun() -> <<A:8, B:2/binary>> end, fun() -> <<A:8, B:Minus>> end].

%% These are looked at together with the sizes.
utf32() ->
    A = id(a), B = id(b), Minus = id(-1), T = id({}), Surrogate = id(16#D800),
    [fun() -> <<A:8, B/utf32>> end, fun() -> <<A/float, B/utf32>> end,
     fun() -> <<A/utf8, B/utf32>> end, fun() -> <<A/utf16, B/utf32>> end,
     fun() -> <<A:2/binary, B/utf32>> end, fun() -> <<A/utf32, B:Minus>> end,
     fun() -> <<A/utf32, B/binary>> end, fun() -> <<A:8, Surrogate/utf32>> end,
     fun() -> <<A:8, T:T/binary, Surrogate/utf32>> end, fun() -> <<A/utf32, B/utf32>> end].

floats() ->
    A = id(a), B = id(b), T = id({}), Seven = id(7), Big = id(1 bsl 2000),
    [fun() -> <<A:8/float, B:1/binary>> end, fun() -> <<1.0:T/float, B/utf32>> end,
     fun() -> <<A:Seven/float, B/utf8>> end, fun() -> <<1.0:Seven/float, B/utf32>> end,
     fun() -> <<A:8, 1.0:Seven/float>> end, fun() -> <<A:8, Big:64/float>> end,
     fun() -> <<Big:32/float, A:8>> end].

binaries() ->
    A = id(a), T = id({}), Bits = id(<<1:7>>),
    [fun() -> <<A/binary, A:T>> end, fun() -> <<A/binary, A/utf32>> end,
     fun() -> <<Bits/binary, A:T>> end, fun() -> <<Bits/binary, A/utf32>> end,
     fun() -> <<Bits/binary, A:8>> end, fun() -> <<1, Bits/binary, A:8>> end].
