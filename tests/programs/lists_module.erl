%% Module lists, function by function.
-module(lists_module).
-export([main/1]).

main(_) ->
    L = [5, 3, 8, 1, 9, 2, 8], K = [{b, 2}, {a, 1}, {c, 3}, {a, 0}],
    P = fun(X) -> X > 4 end,
    R = [{all, lists:all(P, L)}, {any, lists:any(P, L)}, {append, lists:append([[1], [2, 3], []])}, {append2, lists:append("ab", "cd")}, {concat, lists:concat([a, 1, "s", 2.5])},
         {delete, lists:delete(8, L)}, {droplast, lists:droplast(L)}, {dropwhile, lists:dropwhile(P, L)}, {duplicate, lists:duplicate(3, x)}, {enumerate, lists:enumerate([a, b])}, {filter, lists:filter(P, L)},
         {filtermap, lists:filtermap(fun(X) when X > 7 -> {true, X * 10}; (X) -> X =:= 1 end, L)}, {flatlength, lists:flatlength([1, [2, [3]]])}, {flatmap, lists:flatmap(fun(X) -> [X, X] end, [1, 2])}, {flatten, lists:flatten([1, [2, [3, [[]]]], "ab"])},
         {flatten2, lists:flatten([1, [2]], [tail])}, {foldl, lists:foldl(fun(X, A) -> [X | A] end, [], L)}, {foldr, lists:foldr(fun(X, A) -> [X | A] end, [], L)}, {join, lists:join(x, [1, 2, 3])}, {keydelete, lists:keydelete(a, 1, K)},
         {keyfind, lists:keyfind(c, 1, K)}, {keymap, lists:keymap(fun(V) -> V * 2 end, 2, K)}, {keymember, lists:keymember(9, 2, K)}, {keymerge, lists:keymerge(1, [{a, 1}, {c, 1}], [{a, 2}, {b, 2}])}, {keyreplace, lists:keyreplace(a, 1, K, {z, 0})},
         {keysort, lists:keysort(1, K)}, {keystore, lists:keystore(d, 1, K, {d, 4})}, {keystore2, lists:keystore(a, 1, K, {d, 4})}, {keytake, lists:keytake(a, 1, K)}, {keytake2, lists:keytake(q, 1, K)}, {last, lists:last(L)}, {map, lists:map(P, L)},
         {mapfoldl, lists:mapfoldl(fun(X, A) -> {X * A, A + 1} end, 1, L)}, {mapfoldr, lists:mapfoldr(fun(X, A) -> {X * A, A + 1} end, 1, L)}, {max, lists:max(L)}, {min, lists:min(L)}, {merge, lists:merge([1, 3], [2, 3])}, {merge_l, lists:merge([[1, 4], [2], [3]])},
         {merge_f, lists:merge(fun(A, B) -> A >= B end, [3, 1], [2])}, {merge3, lists:merge3([1], [0], [2])}, {nth, lists:nth(3, L)}, {nthtail, lists:nthtail(5, L)}, {partition, lists:partition(P, L)}, {prefix, lists:prefix("ab", "abc")}, {reverse, lists:reverse(L)},
         {search, lists:search(P, [1, 2, 7])}, {search2, lists:search(P, [1])}, {seq, lists:seq(1, 5)}, {seq3, lists:seq(10, 1, -3)}, {seq0, lists:seq(1, 0)}, {sort, lists:sort(L)}, {sort_f, lists:sort(fun(A, B) -> A > B end, L)}, {split, lists:split(3, L)},
         {splitwith, lists:splitwith(P, [5, 6, 1, 7])}, {sublist, lists:sublist(L, 3)}, {sublist3, lists:sublist(L, 2, 3)}, {sublist_long, lists:sublist(L, 100)}, {subtract, lists:subtract(L, [8, 1])}, {suffix, lists:suffix("bc", "abc")}, {sum, lists:sum(L)},
         {takewhile, lists:takewhile(P, [5, 6, 1])}, {ukeymerge, lists:ukeymerge(1, [{a, 1}], [{a, 2}])}, {ukeysort, lists:ukeysort(1, K)}, {umerge, lists:umerge([1, 2], [2, 3])}, {unzip, lists:unzip(K)}, {unzip3, lists:unzip3([{1, 2, 3}])}, {usort, lists:usort(L)},
         {usort_f, lists:usort(fun(A, B) -> A rem 3 =< B rem 3 end, L)}, {zip, lists:zip([1, 2], [a, b])}, {zip3, lists:zip3([1], [a], [x])}, {zipwith, lists:zipwith(fun(A, B) -> A + B end, [1, 2], [3, 4])}, {zipwith3, lists:zipwith3(fun(A, B, C) -> A + B + C end, [1], [2], [3])},
         {rkeymerge, lists:rkeymerge(1, [{b, 1}, {a, 1}], [{a, 2}])}, {uniq, lists:uniq([a, b, a, c, b])}, {uniq_f, lists:uniq(fun(X) -> X rem 2 end, L)}],
    [io:format("~p: ~w~n", [N, V]) || {N, V} <- R],
    lists:foreach(fun(X) -> io:format("~p,", [X]) end, L), io:nl(),
    Bad = [fun() -> lists:nth(0, L) end, fun() -> lists:nth(9, L) end, fun() -> lists:last([]) end, fun() -> lists:max([]) end, fun() -> lists:seq(1, a) end, fun() -> lists:seq(1, 5, 0) end, fun() -> lists:seq(1, 5, -1) end,
           fun() -> lists:zip([1], []) end, fun() -> lists:sublist(L, 0, 1) end, fun() -> lists:split(9, L) end, fun() -> lists:sum([a]) end, fun() -> lists:foldl(fun(X) -> X end, 0, L) end, fun() -> lists:map(x, [1]) end, fun() -> lists:sort(a) end,
           fun() -> lists:keysort(1, [a]) end, fun() -> lists:keysort(0, []) end, fun() -> lists:flatten(a) end, fun() -> lists:reverse([1 | 2]) end, fun() -> lists:duplicate(-1, x) end, fun() -> lists:droplast([]) end, fun() -> lists:nthtail(9, L) end],
    [io:format("~p~n", [case catch F() of {'EXIT', {{badarity, _}, _}} -> badarity; {'EXIT', {W, _}} -> W; V -> V end]) || F <- Bad].
