%% bsl and bsr by every kind of count, negative and huge ones included.
-module(arith_shifts).
-export([main/1, id/1]).

main(_) ->
    Ns = [0, 1, -1, 3, -3, 16#ABCDEF, -16#ABCDEF, (1 bsl 59) - 1, -(1 bsl 59), (1 bsl 60) - 1,
          -(1 bsl 60),
          1 bsl 64, -(1 bsl 64), (1 bsl 64) - 1, (1 bsl 130) + 12345, -(1 bsl 130) - 12345],
    Counts = [0, 1, 2, 3, 4, 31, 32, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 127, 128, 129,
              200],
    lists:foreach(fun({N, C}) ->
                          L = N bsl C, R = N bsr C,
                          L = N * pow2(C), L = N bsr -C, R = N bsl -C,
                          N = L bsr C,
                          R = floor_div(N, pow2(C)),
                          io:format("~p ~p: ~p ~p~n", [N, C, L, R])
                  end, [{N, C} || N <- Ns, C <- Counts]),
    Huge = 1 bsl 64,
    io:format("~p~n", [[{id(N) bsr Huge, id(N) bsl -Huge} || N <- Ns]]),
    io:format("~p~n", [{id(0) bsl Huge, id(0) bsr -Huge}]),
    io:format("~p~n", [error_of(fun() -> id(1) bsl id(1 bsl 64) end)]),
    io:format("~p~n", [error_of(fun() -> id(1) bsl id(1 bsl 40) end)]),
    io:format("~p~n", [error_of(fun() -> id(-1) bsr id(-(1 bsl 64)) end)]),
    io:format("~p~n", [error_of(fun() -> id(1) bsl id(1.0) end)]),
    io:format("~p~n", [error_of(fun() -> id(1.0) bsr id(1) end)]),
    io:format("~p~n", [error_of(fun() -> id(a) bsl id(1) end)]),
    io:format("~p~n", [error_of(fun() -> id(1 bsl 70) bsr id(b) end)]),
    io:format("~p~n", [(1 bsl 5000) rem 1000000007]),
    io:format("~p~n", [((1 bsl 10000) bsr 9990)]).

pow2(0) -> 1;
pow2(C) -> 2 * pow2(C - 1).

floor_div(N, D) when N >= 0 -> N div D;
floor_div(N, D) -> -((-N + D - 1) div D).

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
