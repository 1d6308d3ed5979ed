%% What is shared within a persistent term stays shared: a term of thirty levels that has each below it twice
%% was a gigabyte. And it stays so where the term is moved into a process, as it is replaced.
-module(persistent_term_sharing).
-export([main/1]).

main(_) ->
    Deep = lists:foldl(fun(_, A) -> [A | A] end, [], lists:seq(1, 30)),
    Leaf = {leaf, <<"some bytes">>, binary:copy(<<"x">>, 1000), fun erlang:abs/1, 1 bsl 100, 1.5},
    Map = #{Leaf => Leaf, a => [Leaf, Leaf]},
    Large = maps:from_list([{N, Map} || N <- lists:seq(1, 100)]),
    F = fun() -> {Leaf, Map} end,
    Bin = binary:part(element(3, Leaf), 100, 700),
    Terms = [Deep, [Deep | Deep], {Leaf, Leaf}, Map, Large, F, [Bin, Bin], lists:duplicate(50, Leaf), 1, [], {}],
    [begin
         persistent_term:put({?MODULE, N}, T),
         Stored = persistent_term:get({?MODULE, N}),
         %% Deep itself is never compared whole.
         Equal = N < 3 orelse Stored =:= T,
         persistent_term:put({?MODULE, N}, replaced),
         garbage_collect(),
         Moved = N < 3 orelse Stored =:= T,
         io:format("~p: ~p ~p ~p~n", [N, Equal, Moved, N < 3 andalso (erts_debug:size(Stored) =:= erts_debug:size(T))])
     end || {N, T} <- lists:zip(lists:seq(1, length(Terms)), Terms)],
    Key = {key, Leaf, Leaf},
    persistent_term:put(Key, Key),
    io:format("~p~n", [persistent_term:get({key, Leaf, Leaf}) =:= Key]).
