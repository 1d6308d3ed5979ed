%% band, bor, bxor, bnot on both signs: negative numbers act as endless two's complement.
-module(arith_bitwise).
-export([main/1, id/1]).

main(_) ->
    Ns = [0, 1, -1, 5, -6, 255, -256, 16#5555555555555555, -16#5555555555555556, (1 bsl 59),
          -(1 bsl 59),
          (1 bsl 60) - 1, -(1 bsl 60), (1 bsl 63), -(1 bsl 63), (1 bsl 64) - 1, -(1 bsl 64),
          (1 bsl 64) + 1, -(1 bsl 64) - 1, 1 bsl 127, -(1 bsl 127), (1 bsl 192) - 1,
          -(1 bsl 192) + 12345],
    lists:foreach(fun({A, B}) ->
                          And = A band B, Or = A bor B, Xor = A bxor B,
                          Or = And + Xor,
                          true = A + B =:= And + Or,
                          Xor = (A band bnot B) bor (B band bnot A),
                          io:format("~.16b ~.16b: ~.16b ~.16b ~.16b~n", [A, B, And, Or, Xor])
                  end, [{A, B} || A <- Ns, B <- Ns]),
    io:format("~p~n", [[bnot N || N <- Ns]]),
    Errors = [fun() -> id(1) band id(1.0) end, fun() -> id(a) bor id(1) end,
              fun() -> id(1) bxor id(<<>>) end, fun() -> bnot id(1.5) end, fun() -> bnot id(x) end,
              fun() -> id(1 bsl 70) band id({}) end],
    io:format("~p~n", [[try F() catch C:R -> {C, R} end || F <- Errors]]),
    io:format("~p~n", [[popcount(N, 0) || N <- Ns, N >= 0]]),
    io:format("~p ~p~n", [id(true) and id(false), id(true) xor id(true)]),
    io:format("~p ~p~n", [id(true) or id(false), not id(true)]),
    io:format("~p~n", [try id(1) and id(true) catch error:E -> E end]),
    io:format("~p~n", [try not id(1) catch error:E2 -> E2 end]).

popcount(0, C) -> C;
popcount(N, C) -> popcount(N band (N - 1), C + 1).

id(X) -> X.
