%% Float segments of 16, 32 and 64 bits, both endians, rounding, refused bit patterns.
-module(bin_float).
-export([main/1, id/1]).

main(_) ->
    Fs = [0.0, 1.0, -1.0, 0.1, -0.1, 1.5, 65504.0, 3.0e38, 1.0e-45, 1.401298464324817e-45, 1.0e-40,
          1.1754943508222875e-38,
          3.4028234663852886e38, 3.141592653589793, 1.0e300, 5.0e-324, 6.0e-8, 1.0e-7, 2049.0,
          2051.0, 0.333251953125, 100, 1 bsl 60, 1 bsl 64],
    [io:format("~w: ~p ~p ~p~n", [F, try_hex(fun() -> <<F/float>> end),
                                  try_hex(fun() -> <<F:32/float>> end),
                                  try_hex(fun() -> <<F:16/float>> end)]) || F <- Fs],
    [io:format("~w: ~p ~p~n", [F, try_hex(fun() -> <<F/float-little>> end),
                               try_hex(fun() -> <<1:3, F:32/float-little, 0:5>> end)]) || F <- Fs],
    Patterns32 = [16#00000000, 16#80000001, 16#3F800000, 16#7F7FFFFF, 16#7F800000, 16#FF800000,
                  16#7FC00000, 16#00000001, 16#007FFFFF, 16#C2F6E979],
    [io:format("~.16B ~p ~p~n", [P, m32(<<P:32>>), m32l(<<P:32/little>>)]) || P <- Patterns32],
    Patterns64 = [16#3FF0000000000000, 16#7FF0000000000000, 16#7FEFFFFFFFFFFFFF,
                  16#0000000000000001, 16#FFF8000000000000, 16#400921FB54442D18],
    [io:format("~.16B ~p ~p~n", [P, m64(<<P:64>>), off64(<<1:3, P:64, 7:5>>)]) || P <- Patterns64],
    Patterns16 = [16#3C00, 16#7BFF, 16#7C00, 16#0001, 16#03FF, 16#FC00, 16#7E00, 16#B555],
    [io:format("~.16B ~p~n", [P, m16(<<P:16>>)]) || P <- Patterns16],
    io:format("~p~n", [[try <<(id(V))/float>> catch error:R -> R end
                        || V <- [a, "1", 1 bsl 2000]]]),
    io:format("~p~n", [try <<(id(1.0)):(id(48))/float>> catch error:R -> R end]),
    io:format("~p~n", [begin S32 = id(32), <<X:S32/float, _/bits>> = id(<<1.0/float>>), X end]),
    io:format("~p~n", [begin S40 = id(40), case id(<<1.0/float>>) of <<X1:S40/float, _/bits>> -> X1;
                                               _ -> bad_size end end]),
    io:format("~p~n", [[F || <<F:32/float>> <= <<1.5:32/float, 16#7F800000:32, 2.5:32/float>>]]),
    io:format("~p~n", [<< <<F:32/float>> || F <- [1, 2.5, -3] >>]).

try_hex(F) -> try binary:encode_hex(F()) catch error:R -> R end.
m32(<<F:32/float>>) -> F; m32(_) -> nomatch.
m32l(<<F:32/float-little>>) -> F; m32l(_) -> nomatch.
m64(<<F/float>>) -> F; m64(_) -> nomatch.
off64(<<_:3, F:64/float, _:5>>) -> F; off64(_) -> nomatch.
m16(<<F:16/float>>) -> F; m16(_) -> nomatch.
id(X) -> X.
