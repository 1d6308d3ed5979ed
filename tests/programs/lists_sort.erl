%% Sorting: stability, all the sort variants against a plain insertion sort, sorted and reversed
%% input.
-module(lists_sort).
-export([main/1]).

main(_) ->
    Lists = [[], [1], [2, 1], [1, 2], [1, 2, 3], [3, 2, 1], [1, 1, 1], lists:seq(1, 100),
             lists:seq(100, 1, -1), [X rem 7 || X <- lists:seq(1, 50)], rnd(200, 1000),
             rnd(500, 10), rnd(1000, 100000),
             lists:seq(1, 50) ++ lists:seq(1, 50), lists:seq(50, 1, -1) ++ lists:seq(1, 50),
             [a, 1, "s", {}, 2.5, <<>>, 1.5, 2]],
    [begin
         S = insertion(L, []),
         true = lists:sort(L) =:= S,
         true = lists:sort(fun(A, B) -> A =< B end, L) =:= S,
         U = dedup(S),
         true = same(lists:usort(L), U),
         Keyed = lists:zip([k(X) || X <- L], lists:seq(1, length(L))),
         KS = lists:keysort(1, Keyed),
         true = stable(KS),
         true = KS =:= lists:sort(fun({A, _}, {B, _}) -> A =< B end, Keyed),
         true = length(lists:ukeysort(1,
                                      Keyed)) =:= length(lists:usort(fun({A, _}, {B, _}) ->
                                              A =< B end, Keyed)),
         true = lists:merge(S, S) =:= lists:sort(L ++ L),
         true = lists:reverse(lists:sort(fun(A, B) -> A >= B end,
                                         L)) == lists:sort(fun(A, B) -> A =< B end,
                                                           lists:reverse(L)),
         io:format("~p ~p~n", [length(L), erlang:phash2({S, KS, U})])
     end || L <- Lists],
    Big = rnd(100000, 1 bsl 40),
    io:format("~p~n", [erlang:phash2(lists:sort(Big))]),
    io:format("~p~n", [erlang:phash2(lists:keysort(2, [{X, X rem 1000} || X <- Big]))]),
    io:format("~w~n", [lists:sort([b, "a", 1.0, 1, {a}, #{}, <<1>>, [], a, 2.5, -3])]).

k(X) when is_integer(X) -> X rem 5;
k(X) -> X.

rnd(N, M) -> rnd(N, M, 12345).
rnd(0, _, _) -> [];
rnd(N, M, S) -> S1 = (S * 6364136223846793005 + 1442695040888963407) band 16#FFFFFFFFFFFFFFFF,
    [(S1 bsr 20) rem M | rnd(N - 1, M, S1)].

insertion([], S) -> S;
insertion([H | T], S) -> insertion(T, insert(H, S)).
insert(X, [H | T]) when X >= H -> [H | insert(X, T)];
insert(X, S) -> [X | S].

dedup([A, B | T]) when A == B -> dedup([A | T]);
dedup([A | T]) -> [A | dedup(T)];
dedup([]) -> [].

same(A, B) -> length(A) =:= length(B) andalso A == B.

stable([{A, I}, {B, J} | T]) -> (A < B orelse (A == B andalso I < J)) andalso stable([{B, J} | T]);
stable(_) -> true.
