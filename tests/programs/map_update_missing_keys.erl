%% An update of several keys of which more than one is missing names the first in term order.
-module(map_update_missing_keys).
-export([main/1, id/1]).

main(_) ->
    Small = ?MODULE:id(#{a => 1, 4 => 2, 4.0 => 3}),
    Large = maps:merge(Small, maps:from_list([{{k, N}, N} || N <- lists:seq(1, 40)])),
    [io:format("~p~n", [[try F(M) catch error:E -> E end || F <- updates()]]) || M <- [Small, Large]],
    io:format("~p~n", [[maps:size(F(M)) || M <- [Small, Large], F <- [fun(X) -> X#{a := 2, 4.0 := 5, 4 := 6} end]]]).

updates() ->
    [fun(M) -> M#{42.0 := v, 42 := v2} end,
     fun(M) -> M#{b := v, 42 := v2} end,
     fun(M) -> M#{4.0 := x, z := v, 1.0 := v, a := v, 1 := v, "x" := 2, {1} := 3} end,
     fun(M) -> M#{"x" := 2, {1} := 3, [] := 4, <<>> := 5} end,
     fun(M) -> M#{42 => v1, 42.0 := v2, 42 := v3} end].

id(X) -> X.
