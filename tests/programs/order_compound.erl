%% Comparison of deep and long compound terms, where equality is found late.
-module(order_compound).
-export([main/1, id/1]).

main(_) ->
    L = lists:seq(1, 20000),
    io:format("~p~n", [rel(L, lists:seq(1, 20000))]),
    io:format("~p~n", [rel(L, lists:seq(1, 19999) ++ [20000.0])]),
    io:format("~p~n", [rel(L, lists:seq(1, 19999) ++ [20001])]),
    io:format("~p~n", [rel(L, lists:seq(1, 20001))]),
    io:format("~p~n", [rel(L, lists:seq(1, 20000) ++ tail)]),
    D = deep(50000, x), E = deep(50000, x), F = deep(50000, y),
    io:format("~p ~p~n", [rel(D, E), rel(D, F)]),
    W = left(50000, x), V = left(50000, x),
    io:format("~p ~p~n", [rel(W, V), rel(W, left(50000, w))]),
    T = list_to_tuple(L), U = setelement(20000, T, z),
    io:format("~p ~p~n", [rel(T, U), rel(T, list_to_tuple(lists:seq(1, 20000)))]),
    io:format("~p~n", [rel({1, {2, [3, {4}]}}, {1, {2, [3, {4.0}]}})]),
    io:format("~p~n", [rel(#{a => [1, 2], b => {c}}, #{a => [1, 2.0], b => {c}})]),
    io:format("~p~n", [rel(#{1 => x}, #{1.0 => x})]),
    io:format("~p~n", [rel(big(1000), big(1000))]),
    io:format("~p~n", [rel(big(1000), (big(1000))#{500 := other})]),
    io:format("~p~n", [rel(big(1000), big(999))]),
    io:format("~p~n", [rel(<<1, 2, 3:4>>, <<1, 2, 3:5>>)]),
    <<_:3, Sub/bits>> = id(<<1:3, "hello">>),
    io:format("~p~n", [rel(Sub, <<"hello">>)]),
    io:format("~p~n", [lists:sort([{b, 1}, {a, 2}, [x], "x", {a, 1, 0}, {a, 1.0}, {a, 1}, #{},
                                   <<"z">>, <<"y", 0>>])]),
    io:format("~p~n", [rel(fun lists:map/2, fun lists:map/2)]),
    io:format("~p~n", [fun lists:append/1 < fun lists:map/2]),
    X = id(3), G = fun() -> X end,
    io:format("~p~n", [rel(G, G)]),
    io:format("~p~n", [[A == B || A <- ["", [], <<>>, {}, #{}, ''],
                        B <- ["", [], <<>>, {}, #{}, '']]]).

deep(0, T) -> T;
deep(N, T) -> {N, deep(N - 1, T)}.
left(N, T) -> left(N, T, T).
left(0, _, Acc) -> Acc;
left(N, T, Acc) -> left(N - 1, T, {Acc, N}).
big(N) -> maps:from_list([{K, {K, "v"}} || K <- lists:seq(1, N)]).

rel(A, B) -> {A < B, A == B, A =:= B, A > B}.
id(X) -> X.
