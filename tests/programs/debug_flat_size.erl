%% erts_debug:flat_size/1 of what is as large here as on erl: an empty tuple takes no room.
-module(debug_flat_size).
-export([start/0]).

start() ->
    Empty = list_to_tuple(id([])),
    [io:format("~0p: ~p ~p~n", [T, erts_debug:flat_size(T), erts_debug:size(T)])
     || T <- [Empty, {Empty}, [Empty | Empty], {Empty, Empty, {Empty}}, [], [1], id({1, 2}), 1 bsl 70, a,
              [[Empty] || _ <- "abc"]]],
    ok.

id(X) -> X.
