%% The order of large maps is OTP's: lists, iterators, folds, printing and the external format, for keys
%% whose hash has no number of this VM in it (as those of atoms, pids and funs have).
-module(map_order).
-export([main/1]).

main(_) ->
    [map(Kind, N) || Kind <- kinds(), N <- [33, 1200]],
    io:format("~w~n", [[from_place(Place, Map) || Map <- [#{}, #{a => 1}], Place <- [0, 1, 2, -1, 16#FFFFFFFFFFFFFFFF, 1 bsl 200]]]),
    io:format("~w~n~p~n", [grown_and_shrunk(), maps:from_list([{X, X} || X <- keys(string, 40)])]).

kinds() ->
    [small, negative, near_small, big, binary, string, float, tuple, nested, bits, list].

keys(small, N) -> lists:seq(1, N);
keys(negative, N) -> [-X * X * X || X <- lists:seq(1, N)];
%% Some of them are large integers to OTP, and small ones here.
keys(near_small, N) -> [(1 bsl 55) * (X rem 64) - (1 bsl 60) + X || X <- lists:seq(1, N)];
keys(big, N) -> lists:append([[(X bsl (61 + X rem 200)) + X, -(X bsl (61 + X rem 200))] || X <- lists:seq(1, N div 2 + 1)]);
keys(binary, N) -> [<<(binary:copy(<<"a">>, X rem 40))/binary, (integer_to_binary(X))/binary>> || X <- lists:seq(1, N)];
keys(string, N) -> [integer_to_list(X * 7919) || X <- lists:seq(1, N)];
keys(float, N) -> [X / 7 || X <- lists:seq(1, N)] ++ [X * 1.0e290 || X <- lists:seq(1, N)] ++ [0.0];
keys(tuple, N) -> [{X, X + 1, [X]} || X <- lists:seq(1, N)] ++ [{}];
keys(nested, N) -> [{<<X:16>>, 1.0 * X, [X, 1000, "ab", [{X}] | X], #{X => [], 3 => #{}}} || X <- lists:seq(1, N)];
keys(bits, N) -> [<<X:13>> || X <- lists:seq(1, N)] ++ [begin <<_:3, Bits/bits>> = <<X:40>>, Bits end || X <- lists:seq(1, N)];
keys(list, N) -> lists:append([[[X, 300, 400, X | 5], [{X}, 1, 2], [{X} | {X}]] || X <- lists:seq(1, N)]).

map(Kind, N) ->
    Keys = keys(Kind, N),
    Map = maps:from_list([{Key, 1} || Key <- Keys]),
    Map = lists:foldl(fun(Key, M) -> M#{Key => 1} end, #{}, lists:reverse(Keys)),
    Less = lists:foldl(fun maps:remove/2, Map, lists:sublist(Keys, length(Keys) - 33)),
    Merged = maps:merge(Less, Map),
    Even = maps:filter(fun(Key, _) -> erlang:phash2(Key) rem 2 =:= 0 end, Map),
    io:format("~w ~w: ~w~n", [Kind, N, [hash(Of) || Of <-
        [maps:to_list(Map), maps:keys(Map), maps:values(maps:map(fun(Key, _) -> Key end, Map)), iterated(Map),
         maps:fold(fun(Key, _, Seen) -> [Key | Seen] end, [], Map), maps:to_list(Less), maps:to_list(Merged),
         maps:to_list(Even), io_lib:format("~p ~w", [Map, Map]), term_to_binary(Map),
         [maps:to_list(Inner) || #{in := Inner} <- [binary_to_term(term_to_binary(#{in => Map}))]]]]]),
    [io:format("  ~w~n", [maps:keys(Map)]) || N =:= 33].

iterated(Map) -> iterated_from(maps:next(maps:iterator(Map))).
iterated_from(none) -> [];
iterated_from({Key, Value, Next}) -> [{Key, Value} | iterated_from(maps:next(Next))].

%% A small map comes whole, from any place that it has.
from_place(Place, Map) ->
    try erts_internal:map_next(Place, Map, iterator) catch error:badarg -> badarg end.

hash(Term) -> erlang:phash2(Term).

grown_and_shrunk() ->
    Grown = lists:foldl(fun(X, M) -> maps:put(X, X, M) end, #{}, lists:seq(1, 5000)),
    maps:keys(maps:without(lists:seq(35, 5000), Grown)).
