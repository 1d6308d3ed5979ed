%% gb_trees and gb_sets: order, balance, iterators, errors, against orddict and ordsets.
-module(lib_gb_trees).
-export([main/1]).

main(_) ->
    Keys = [(I * 7919) rem 1009 || I <- lists:seq(1, 1000)],
    T = lists:foldl(fun(K, A) -> gb_trees:enter(K, K * 2, A) end, gb_trees:empty(), Keys),
    O = lists:foldl(fun(K, A) -> orddict:store(K, K * 2, A) end, [], Keys),
    io:format("~p ~p~n", [gb_trees:size(T), gb_trees:to_list(T) =:= O]),
    io:format("~p~n", [[gb_trees:smallest(T), gb_trees:largest(T), gb_trees:lookup(5, T),
                        gb_trees:lookup(5000, T), gb_trees:is_defined(7, T), gb_trees:get(9, T)]]),
    T2 = lists:foldl(fun gb_trees:delete_any/2, T, lists:seq(1, 2000, 2)),
    io:format("~p ~p~n", [gb_trees:size(T2), lists:sum(gb_trees:keys(T2))]),
    {K, V, T3} = gb_trees:take_smallest(T2), {K2, V2, T4} = gb_trees:take_largest(T3),
    io:format("~p~n", [{K, V, K2, V2, gb_trees:size(T4)}]),
    io:format("~p~n", [lists:sum(walk(gb_trees:iterator(T4)))]),
    io:format("~p~n", [length(walk(gb_trees:iterator_from(500, T4)))]),
    io:format("~p~n",
              [gb_trees:to_list(gb_trees:map(fun(A, B) -> A + B end,
                                             gb_trees:from_orddict([{1, 1}, {2, 2}])))]),
    io:format("~p~n", [depth(gb_trees:balance(T)) =< 12]),
    io:format("~p~n", [gb_trees:take_any(x, gb_trees:from_orddict([{x, 1}, {y, 2}]))]),
    io:format("~p~n",
              [[try F() catch C:E -> {C, E} end
                || F <- [fun() -> gb_trees:insert(1, a, gb_trees:from_orddict([{1, b}])) end,
                         fun() -> gb_trees:get(zz, T) end, fun() -> gb_trees:delete(zz, T) end,
                         fun() -> gb_trees:update(zz, 1, T) end,
                         fun() -> gb_trees:smallest(gb_trees:empty()) end]]]),
    S1 = gb_sets:from_list(Keys), S2 = gb_sets:from_list(lists:seq(500, 1500)),
    [io:format("~p ~p~n", [gb_sets:size(S), erlang:phash2(gb_sets:to_list(S))])
     || S <- [S1, S2, gb_sets:union(S1, S2), gb_sets:intersection(S1, S2), gb_sets:subtract(S1, S2),
              gb_sets:difference(S2, S1), gb_sets:filter(fun(X) -> X rem 3 =:= 0 end, S1),
              gb_sets:union([S1, S2, gb_sets:singleton(-1)])]],
    io:format("~p~n", [[gb_sets:is_subset(S2, S1), gb_sets:is_disjoint(S1, S2),
                        gb_sets:is_member(5, S1), gb_sets:is_element(5000, S1),
                        gb_sets:smallest(S1), gb_sets:largest(S1), gb_sets:is_empty(gb_sets:new()),
                        gb_sets:is_set(S1)]]),
    {X, S3} = gb_sets:take_smallest(S1),
    io:format("~p ~p~n", [X, gb_sets:size(S3)]),
    io:format("~p~n", [gb_sets:fold(fun(A, B) -> A + B end, 0, S1)]),
    io:format("~p~n",
              [gb_sets:to_list(gb_sets:add(b,
                                           gb_sets:delete_any(z, gb_sets:from_ordset([a, c]))))]),
    {N, _} = gb_sets:next(gb_sets:iterator(S2)),
    io:format("~p~n", [N]).

walk(It) -> case gb_trees:next(It) of none -> []; {_, V, I} -> [V | walk(I)] end.
depth({_, T}) -> d(T).
d(nil) -> 0;
d({_, _, L, R}) -> 1 + max(d(L), d(R)).
