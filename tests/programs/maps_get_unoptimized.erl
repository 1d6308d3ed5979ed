%% Without the compiler's passes a call of maps:get/2 stays one, in the stack trace of its error too.
-module(maps_get_unoptimized).
-compile([no_copt]).
-export([main/1, called/2, called_last/2, key/2]).

main(_) ->
    [io:format("~p~n", [try ?MODULE:F(k, X) catch error:E:Trace -> {E, hd(Trace)} end])
     || F <- [called, called_last, key], X <- [no_map, #{}, #{k => v}]].

called(K, M) -> [maps:get(K, M)].
called_last(K, M) -> maps:get(K, M).
key(K, M) -> {maps:is_key(K, M)}.
