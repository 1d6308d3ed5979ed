%% dict, gb_trees, orddict and sets of the standard library.
-module(b_trees).
-define(REPEAT, 13).
-include("bench.hrl").

once() ->
    Ks = [(N * 7919) rem 20011 || N <- lists:seq(1, 10000)],
    D = lists:foldl(fun(K, A) -> dict:store(K, K, A) end, dict:new(), Ks),
    T = lists:foldl(fun(K, A) -> gb_trees:enter(K, K, A) end, gb_trees:empty(), Ks),
    S = lists:foldl(fun sets:add_element/2, sets:new(), Ks),
    {lists:sum([dict:fetch(K, D) || K <- Ks]), lists:sum([gb_trees:get(K, T) || K <- Ks]),
     length([x || K <- lists:seq(1, 20000), sets:is_element(K, S)]),
     gb_trees:size(lists:foldl(fun gb_trees:delete/2, T, lists:sublist(Ks, 5000)))}.
