%% div and rem of every sign and size, the identity between them, and division by zero.
-module(arith_div_rem).
-export([main/1, id/1]).

main(_) ->
    Ns = [0, 1, -1, 7, -7, 100, -100, (1 bsl 59) - 1, 1 bsl 59, -(1 bsl 59), (1 bsl 60) - 1,
          1 bsl 60,
          -(1 bsl 60), -(1 bsl 60) - 1, 1 bsl 63, -(1 bsl 63), 1 bsl 64, -(1 bsl 64),
          (1 bsl 64) - 1,
          1 bsl 128, -(1 bsl 128) + 1, 123456789012345678901234567890123456789],
    Ds = [1, -1, 2, -2, 3, -3, 10, 16, -16, 1000000007, (1 bsl 59), -(1 bsl 59), 1 bsl 60,
          -(1 bsl 60), (1 bsl 61) - 1, (1 bsl 64) - 1, 1 bsl 64, -(1 bsl 65), (1 bsl 100) + 7],
    lists:foreach(fun({N, D}) ->
                          Q = N div D, R = N rem D,
                          N = Q * D + R,
                          true = abs(R) < abs(D),
                          true = R =:= 0 orelse (R < 0) =:= (N < 0),
                          io:format("~p/~p: ~p ~p~n", [N, D, Q, R])
                  end, [{N, D} || N <- Ns, D <- Ds]),
    lists:foreach(fun(F) -> io:format("~p~n", [error_of(F)]) end,
                  [fun() -> id(1) div id(0) end, fun() -> id(1) rem id(0) end,
                   fun() -> id(1 bsl 80) div id(0) end, fun() -> id(1 bsl 80) rem id(0) end,
                   fun() -> id(1) / id(0) end, fun() -> id(1) / id(0.0) end,
                   fun() -> id(1.0) div id(1) end, fun() -> id(5) rem id(2.0) end,
                   fun() -> id(a) div id(1) end, fun() -> id(5) rem id([]) end,
                   fun() -> id(0) div id(0) end]),
    %% Constant divisors have their own instructions.
    io:format("~p~n", [[{N div 8, N rem 8, N div 10, N rem 10, N div -8, N rem -8} || N <- Ns]]),
    io:format("~p~n", [[digits(abs(N)) || N <- Ns]]).

digits(N) when N < 10 -> [N];
digits(N) -> digits(N div 10) ++ [N rem 10].

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
