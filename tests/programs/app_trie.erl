%% A trie of words: insert, find, delete, prefix search, fuzzy search with an edit distance.
-module(app_trie).
-export([main/1]).

main(_) ->
    Words = ["car", "card", "care", "cat", "dog", "do", "door", "zebra", "", "ca", "härd", "härad"],
    T = lists:foldl(fun insert/2, new(), Words),
    io:format("~tp~n", [lists:sort(all(T)) =:= lists:sort(Words)]),
    io:format("~p~n", [[member(W, T) || W <- ["car", "cars", "c", "", "dog", "zeb"]]]),
    io:format("~tp~n", [[prefix(P, T) || P <- ["ca", "do", "x", "här"]]]),
    T2 = delete("car", delete("zebra", T)),
    io:format("~tp~n", [all(T2)]),
    io:format("~p~n", [count_nodes(T) > count_nodes(T2)]),
    io:format("~tp~n", [[{W, lists:sort([X || X <- all(T), distance(W, X) =< 1])}
                         || W <- ["cat", "dor", "card"]]]),
    Many = lists:foldl(fun(I, A) -> insert(integer_to_list(I, 36), A) end, new(),
                       lists:seq(1, 5000)),
    io:format("~p ~p ~p~n", [length(all(Many)), length(prefix("a", Many)), count_nodes(Many)]).

new() -> {false, #{}}.
insert([], {_, M}) -> {true, M};
insert([H | T], {E, M}) -> {E, M#{H => insert(T, maps:get(H, M, new()))}}.
member([], {E, _}) -> E;
member([H | T], {_, M}) -> case M of #{H := N} -> member(T, N); _ -> false end.
delete([], {_, M}) -> {false, M};
delete([H | T], {E, M}) ->
    case M of
        #{H := N} -> case delete(T, N) of {false, C} when map_size(C) =:= 0 ->
                         {E, maps:remove(H, M)}; N1 -> {E, M#{H := N1}} end;
        _ -> {E, M}
    end.
all(T) -> all(T, []).
all({E, M}, Rev) -> [lists:reverse(Rev) || E] ++ lists:append([all(N, [H | Rev])
                                                               || {H, N} <- lists:sort(maps:to_list(M))]).
prefix(P, T) -> prefix(P, T, []).
prefix([], T, Rev) -> all(T, Rev);
prefix([H | R], {_, M}, Rev) -> case M of #{H := N} -> prefix(R, N, [H | Rev]); _ -> [] end.
count_nodes({_, M}) -> 1 + lists:sum([count_nodes(N) || N <- maps:values(M)]).

distance(A, B) -> lists:last(lists:foldl(fun(C, Row) -> row(C, B, Row, [hd(Row) + 1]) end,
                                         lists:seq(0, length(B)), A)).
row(_, [], _, Acc) -> lists:reverse(Acc);
row(C, [D | T], [Diag, Up | R], [Left | _] = Acc) -> row(C, T, [Up | R],
                                                         [lists:min([Left + 1, Up + 1,
                                                                 Diag + case C =:= D of true -> 0;
                                                                         false -> 1 end]) | Acc]).
