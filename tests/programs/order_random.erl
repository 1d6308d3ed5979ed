%% Random terms of every type: total order, equality, hashes and the external format agree with
%% each other.
-module(order_random).
-export([main/1]).

main(_) ->
    {Terms, _} = lists:mapfoldl(fun(_, S) -> term(S, 3) end, 4711, lists:seq(1, 250)),
    Sorted = lists:sort(Terms),
    io:format("~p~n", [erlang:phash2(Sorted)]),
    [begin
         Bin = term_to_binary(T), Copy = binary_to_term(Bin),
         true = Copy =:= T, true = erlang:phash2(Copy) =:= erlang:phash2(T), false = Copy < T,
         false = Copy > T
     end || T <- Terms],
    io:format("~p~n", [lists:foldl(fun(T, H) -> erlang:phash2({H, term_to_binary(T)}) end, 0,
                                   Terms)]),
    Some = lists:sublist(Terms, 70),
    [case {A < B, A > B, A == B} of
         {true, false, false} -> true = B > A;
         {false, true, false} -> true = B < A;
         {false, false, true} -> true = B == A
     end || A <- Some, B <- Some],
    true = transitive(Sorted),
    io:format("~w~n", [lists:sublist(lists:usort(Terms), 40)]),
    io:format("~p~n", [length(lists:usort(Terms))]).

transitive([A, B | T]) -> A =< B andalso transitive([B | T]);
transitive(_) -> true.

next(S) -> (S * 6364136223846793005 + 1442695040888963407) band 16#7FFFFFFFFFFFFFFF.

term(S, Depth) ->
    S1 = next(S), V = S1 bsr 18,
    case (S1 bsr 40) rem (case Depth of 0 -> 8; _ -> 12 end) of
        0 -> {V rem 20 - 10, S1};
        1 -> {V - (1 bsl 44), S1};
        2 -> {(V bsl 30) * (V rem 3 - 1), S1};
        3 -> {V rem 40 / 4 - 5, S1};
        4 -> {lists:nth(V rem 6 + 1, [a, b, 'A', ab, '', true]), S1};
        5 -> {<<V:(V rem 40)>>, S1};
        6 -> {[], S1};
        7 -> {{}, S1};
        8 -> {L, S2} = terms(S1, V rem 4, Depth - 1), {list_to_tuple(L), S2};
        9 -> terms(S1, V rem 4, Depth - 1);
        10 -> {L, S2} = terms(S1, V rem 4, Depth - 1),
            {maps:from_list([{K, I} || {I, K} <- lists:zip(lists:seq(1, length(L)), L)]), S2};
        11 -> {L, S2} = terms(S1, 2, Depth - 1), {hd(L), S2}
    end.
terms(S, N, Depth) -> lists:mapfoldl(fun(_, X) -> term(X, Depth) end, S, lists:seq(1, N)).
