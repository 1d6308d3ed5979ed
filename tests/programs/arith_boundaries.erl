%% Addition, subtraction and multiplication around every size at which a representation changes.
-module(arith_boundaries).
-export([main/1, id/1]).

main(_) ->
    Edges = [sign(S, (1 bsl B) + D) || B <- [27, 28, 31, 32, 58, 59, 60, 61, 62, 63, 64, 127, 128],
                                       D <- [-1, 0, 1], S <- [1, -1]],
    lists:foreach(fun unary/1, Edges),
    Small = [0, 1, -1, 2, -2, 7, 1 bsl 59, -(1 bsl 59), (1 bsl 60) - 1, -(1 bsl 60),
             (1 bsl 63) - 1, -(1 bsl 63), 1 bsl 64, -(1 bsl 64)],
    lists:foreach(fun({A, B}) -> binary(A, B) end, [{A, B} || A <- Small, B <- Small]),
    io:format("~p~n", [erlang:phash2([{A + B, A - B, A * B} || A <- Edges, B <- Edges])]),
    %% A value that leaves the small range and comes back must be equal to one that never left.
    lists:foreach(fun(A) ->
                          Back = id(id(A + (1 bsl 70)) - (1 bsl 70)),
                          true = Back =:= A, true = Back == A,
                          true = erlang:phash2(Back) =:= erlang:phash2(A),
                          {A} = {Back}
                  end, Edges),
    counting(1 bsl 59 - 3, 6), counting(1 bsl 60 - 3, 6), counting(-(1 bsl 60) - 3, 6),
    counting(1 bsl 63 - 3, 6), counting(1 bsl 64 - 3, 6).

sign(1, N) -> N;
sign(-1, N) -> -N.

unary(N) ->
    io:format("~p: neg ~p inc ~p dec ~p dbl ~p sq ~p abs ~p bnot ~p~n",
              [N, -id(N), N + 1, N - 1, N + N, N * N, abs(N), bnot N]).

binary(A, B) -> io:format("~p ~p: ~p ~p ~p~n", [A, B, A + B, A - B, A * B]).

counting(_, 0) -> io:format("~n");
counting(N, Left) -> io:format("~p ", [N]), counting(N + 1, Left - 1).

id(X) -> X.
