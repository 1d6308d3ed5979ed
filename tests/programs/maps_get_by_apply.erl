%% A call of maps:get/2 or maps:is_key/2 fails as erlang:map_get/2 or is_map_key/2, an apply as itself.
-module(maps_get_by_apply).
-export([main/1, called/2, called_last/2, key/2]).

main(_) ->
    [io:format("~p~n", [try apply(M, F, [k, X]) catch error:E:Trace -> {E, hd(Trace)} end])
     || {M, F} <- [{?MODULE, called}, {?MODULE, called_last}, {?MODULE, key}, {maps, get}, {maps, is_key},
                   {erlang, map_get}, {erlang, is_map_key}],
        X <- [no_map, #{}, #{k => v}]],
    G = fun maps:get/2,
    io:format("~p~n", [try G(k, #{}) catch error:E:Trace -> {E, hd(Trace)} end]).

called(K, M) -> [maps:get(K, M)].
called_last(K, M) -> maps:get(K, M).
key(K, M) -> {maps:is_key(K, M)}.
