%% The functions of module maps.
-module(map_module).
-export([main/1]).

main(_) ->
    M = #{a => 1, b => 2, c => 3, d => 4},
    io:format("~p~n", [maps:filter(fun(_, V) -> V rem 2 =:= 0 end, M)]),
    io:format("~p~n", [maps:filtermap(fun(_, V) when V > 2 -> {true, V * 10}; (_, 1) -> true;
                                          (_, _) -> false end, M)]),
    io:format("~p~n", [maps:map(fun(K, V) -> {K, V} end, M)]),
    io:format("~p~n", [maps:fold(fun(K, V, A) -> [{V, K} | A] end, [], M)]),
    maps:foreach(fun(K, V) -> io:format("~p-~p ", [K, V]) end, M), io:nl(),
    io:format("~p~n", [maps:update_with(a, fun(V) -> V + 100 end, M)]),
    io:format("~p~n", [maps:update_with(z, fun(V) -> V + 100 end, init, M)]),
    io:format("~p~n", [catch_(fun() -> maps:update_with(z, fun(V) -> V end, M) end)]),
    io:format("~p~n", [maps:with([a, c, x], M)]),
    io:format("~p~n", [maps:without([a, c, x], M)]),
    io:format("~p~n", [maps:merge_with(fun(K, A, B) -> {K, A, B} end, M, #{c => x, e => y})]),
    io:format("~p~n", [maps:intersect(M, #{c => x, e => y})]),
    io:format("~p~n", [maps:intersect_with(fun(K, A, B) -> {K, A, B} end, M,
                                           #{a => z, c => x, e => y})]),
    io:format("~p~n", [maps:groups_from_list(fun(X) -> X rem 3 end, lists:seq(1, 10))]),
    io:format("~p~n", [maps:groups_from_list(fun(X) -> X rem 3 end, fun(X) -> X * X end,
                                             lists:seq(1, 10))]),
    It = maps:iterator(M),
    {K1, V1, It2} = maps:next(It),
    {K2, V2, _} = maps:next(It2),
    io:format("~p ~p ~p ~p~n", [K1, V1, K2, V2]),
    none = maps:next(maps:iterator(#{})),
    io:format("~p~n", [maps:size(M)]),
    io:format("~p~n", [[catch_(F) || F <- [fun() -> maps:fold(fun(_, _, A) -> A end, 0, id(x)) end,
                                          fun() -> maps:map(fun(K) -> K end, id(M)) end,
                                          fun() -> maps:keys(id(x)) end,
                                          fun() -> maps:values(id([])) end,
                                          fun() -> maps:to_list(id(x)) end,
                                          fun() -> maps:remove(a, id(x)) end,
                                          fun() -> maps:put(a, b, id(x)) end,
                                          fun() -> maps:with(id(x), M) end,
                                          fun() -> maps:take(a, id({})) end,
                                          fun() -> maps:from_keys(id(x), 1) end,
                                          fun() -> maps:iterator(id(x)) end,
                                          fun() -> maps:is_key(a, id(x)) end,
                                          fun() -> maps:size(id(x)) end,
                                          fun() -> maps:filter(a, id(M)) end]]]).

catch_(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
