%% Small maps: every way to build, read, update, match; keys of all types; errors.
-module(map_small).
-export([main/1, id/1]).

main(_) ->
    M0 = #{}, M1 = #{a => 1, b => 2},
    io:format("~p ~p ~p~n", [M0, M1, #{1 => x, 1.0 => y, "k" => z, <<"b">> => w, {t} => v,
                                       [] => u}]),
    io:format("~p~n", [M1#{c => 3}]),
    io:format("~p~n", [M1#{a := 10, b => 20, c => 30}]),
    io:format("~p~n", [(id(#{}))#{x => 1, x => 2}]),
    io:format("~p~n", [error_of(fun() -> (id(M1))#{z := 1} end)]),
    io:format("~p~n", [error_of(fun() -> (id(M1))#{a := 1, z := 1} end)]),
    io:format("~p~n", [error_of(fun() -> (id(notmap))#{a := 1} end)]),
    io:format("~p~n", [error_of(fun() -> (id([]))#{a => 1} end)]),
    #{a := A} = id(M1),
    #{a := A, b := B} = id(M1),
    io:format("~p ~p~n", [A, B]),
    io:format("~p~n", [error_of(fun() -> #{z := _} = id(M1) end)]),
    io:format("~p~n", [error_of(fun() -> #{a := 2} = id(M1) end)]),
    io:format("~p~n", [error_of(fun() -> #{} = id(x) end)]),
    io:format("~p~n", [[kind(M) || M <- [#{}, #{type => a}, #{type => b, v => 1}, #{type => b},
                                         #{v => 1}, #{type => c, v => 2, w => 3}, x]]]),
    K = id(key),
    #{K := V} = id(#{key => value}),
    io:format("~p~n", [V]),
    io:format("~p~n", [#{K => 1, {K, K} => 2, [K] => #{K => 3}}]),
    io:format("~p~n", [maps:get(a, M1)]),
    io:format("~p~n", [maps:get(z, M1, default)]),
    io:format("~p~n", [error_of(fun() -> maps:get(z, id(M1)) end)]),
    io:format("~p~n", [error_of(fun() -> maps:get(z, id(nomap)) end)]),
    io:format("~p~n", [error_of(fun() -> maps:get(z, id(nomap), 1) end)]),
    io:format("~p~n", [error_of(fun() -> map_size(id([])) end)]),
    io:format("~p~n", [error_of(fun() -> map_get(q, id(M1)) end)]),
    io:format("~p ~p~n", [maps:find(a, M1), maps:find(zz, M1)]),
    io:format("~p ~p~n", [maps:is_key(a, M1), is_map_key(zz, M1)]),
    io:format("~p ~p ~p~n", [maps:keys(M1), maps:values(M1), maps:to_list(M1)]),
    io:format("~p ~p~n", [maps:put(c, 3, M1), maps:remove(a, M1)]),
    io:format("~p~n", [maps:remove(zz, M1) =:= M1]),
    io:format("~p ~p~n", [maps:take(a, M1), maps:take(zz, M1)]),
    io:format("~p~n", [maps:update(a, new, M1)]),
    io:format("~p~n", [error_of(fun() -> maps:update(zz, new, id(M1)) end)]),
    io:format("~p~n", [maps:from_list([{a, 1}, {b, 2}, {a, 3}])]),
    io:format("~p~n", [error_of(fun() -> maps:from_list(id([{a, 1}, b])) end)]),
    io:format("~p~n", [error_of(fun() -> maps:from_list(id([{a, 1} | b])) end)]),
    io:format("~p~n", [maps:from_keys([c, a, b], 0)]),
    io:format("~p~n", [maps:merge(#{a => 1, b => 2}, #{b => 3, c => 4})]),
    io:format("~p~n", [error_of(fun() -> maps:merge(id(a), #{}) end)]),
    io:format("~p~n", [error_of(fun() -> maps:merge(#{}, id(b)) end)]),
    io:format("~p ~p~n", [map_size(M0), map_size(M1#{c => 3})]),
    io:format("~p~n", [#{a => 1} =:= #{a => 1.0}]),
    io:format("~p~n", [#{a => 1} == #{a => 1.0}]),
    io:format("~p~n", [#{1 => a} == #{1.0 => a}]),
    io:format("~p~n", [lists:sort([#{a => 1}, #{}, #{b => 1}, #{a => 0, b => 1}, #{a => 2},
                                   #{1 => 1}, #{1.0 => 1}])]),
    Same = M1#{a := 1},
    io:format("~p~n", [Same =:= M1]),
    io:format("~w~n", [#{a => #{b => #{c => #{}}}}]).

kind(#{type := a}) -> a;
kind(#{type := b, v := V}) when V > 0 -> {b, V};
kind(#{type := T} = M) -> {T, map_size(M)};
kind(#{v := V}) -> {v, V};
kind(#{}) -> map;
kind(_) -> no_map.

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
