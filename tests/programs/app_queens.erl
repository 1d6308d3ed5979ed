%% N queens: lists, bit masks, and split over processes; all three agree.
-module(app_queens).
-export([main/1]).

main(_) ->
    [io:format("~p: ~p ~p ~p~n", [N, length(queens(N)), bits(N), parallel(N)])
     || N <- lists:seq(1, 8)],
    io:format("~p~n", [bits(9)]),
    io:format("~p~n", [hd(queens(8))]),
    io:format("~p~n", [lists:last(queens(6))]).

queens(N) -> place(N, N).
place(_, 0) -> [[]];
place(N, K) -> [[Q | B] || B <- place(N, K - 1), Q <- lists:seq(1, N), safe(Q, 1, B)].
safe(_, _, []) -> true;
safe(Q, D, [H | T]) -> Q =/= H andalso abs(Q - H) =/= D andalso safe(Q, D + 1, T).

bits(N) -> count((1 bsl N) - 1, 0, 0, 0).
count(All, All, _, _) -> 1;
count(All, Cols, L, R) -> tries(All, Cols, L, R, All band bnot (Cols bor L bor R), 0).
tries(_, _, _, _, 0, Sum) -> Sum;
tries(All, Cols, L, R, Free, Sum) ->
    Bit = Free band -Free,
    tries(All, Cols, L, R, Free bxor Bit, Sum + count(All, Cols bor Bit,
                                                      ((L bor Bit) bsl 1) band All,
                                                      (R bor Bit) bsr 1)).

parallel(N) ->
    Self = self(), All = (1 bsl N) - 1,
    Ps = [spawn(fun() -> B = 1 bsl I, Self ! {self(), count(All, B, (B bsl 1) band All,
                                                            B bsr 1)} end)
          || I <- lists:seq(0, N - 1)],
    lists:sum([receive {P, C} -> C end || P <- Ps]).
