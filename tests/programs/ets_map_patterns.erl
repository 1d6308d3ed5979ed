%% A map in a pattern matches every map that has these pairs, in a key as well.
-module(ets_map_patterns).
-export([start/0]).

start() ->
    [in_table(Type) || Type <- [set, ordered_set, bag, duplicate_bag]].

in_table(Type) ->
    T = ets:new(t, [Type]),
    Keys = [#{}, #{a => 1}, #{a => 1, b => 2}, #{b => 2}, #{a => #{c => 1, d => 2}}, a, {a, 1},
            {#{a => 1, b => 2}}, {#{a => 1}}, [#{a => 1, b => 2}]],
    ets:insert(T, [{K, 1} || K <- Keys]),
    Patterns = Keys ++ [#{a => '_'}, #{a => '$1'}, #{a => #{c => 1}}, {#{}}, [#{}], {#{b => '_'}}],
    [begin
         show(Type, match_object, P, lists:sort(ets:match_object(T, {P, '_'}))),
         show(Type, count, P, ets:select_count(T, [{{P, '_'}, [], [true]}])),
         show(Type, const, P, catch ets:select_replace(T, [{{P, 1}, [], [{const, {P, 1}}]}])),
         show(Type, part, P, catch ets:select_replace(T, [{{P, 1}, [], [{{{const, P}, 1}}]}]))
     end || P <- Patterns],
    [show(Type, bounded, K, lists:sort(ets:select(T, [{{K, 1}, [], ['$_']}, {{{#{}}, '_'}, [], ['$_']}])))
     || K <- [#{a => 1}, a, {#{a => 1}}]],
    show(Type, delete, #{a => 1}, ets:match_delete(T, {#{a => 1}, '_'})),
    show(Type, left, all, lists:sort(ets:tab2list(T))).

show(Type, What, P, {'EXIT', {Reason, _}}) ->
    show(Type, What, P, {error, Reason});
show(Type, What, P, Result) ->
    io:format("~p ~p ~0p: ~0p~n", [Type, What, P, Result]).
