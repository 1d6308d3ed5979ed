%% Maps of ten thousand keys of mixed types: update, remove, merge, fold, iterate, compare.
-module(map_large).
-export([main/1]).

-define(N, 10000).

main(_) ->
    M = maps:from_list([{key(I), I} || I <- lists:seq(1, ?N)]),
    io:format("~p ~p~n", [map_size(M), erlang:phash2(M)]),
    [I = maps:get(key(I), M) || I <- lists:seq(1, ?N)],
    [error = maps:find(key(I), M) || I <- lists:seq(?N + 1, 2 * ?N)],
    M2 = maps:map(fun(_, V) -> V * 2 end, M),
    io:format("~p~n", [maps:fold(fun(_, V, S) -> V + S end, 0, M2)]),
    M3 = maps:filter(fun(_, V) -> V rem 3 =:= 0 end, M2),
    io:format("~p~n", [map_size(M3)]),
    M4 = lists:foldl(fun(I, A) -> maps:remove(key(I), A) end, M, lists:seq(1, ?N - 20)),
    io:format("~p~n", [lists:sort(maps:to_list(M4))]),
    M5 = lists:foldl(fun(I, A) -> K = key(I), A#{K := -I} end, M, lists:seq(1, ?N)),
    io:format("~p~n", [lists:sum(maps:values(M5))]),
    io:format("~p~n", [try maps:update(nokey, 1, M5) catch error:E -> E end]),
    io:format("~p~n",
              [map_size(maps:merge(M,
                                   maps:from_list([{key(I), new}
                                                   || I <- lists:seq(5001, 15000)])))]),
    io:format("~p~n", [count(maps:next(maps:iterator(M)), 0)]),
    io:format("~p~n", [maps:fold(fun(_, V, S) -> S bxor V end, 0, M)]),
    Copy = maps:from_list(lists:reverse(maps:to_list(M))),
    io:format("~p ~p ~p~n", [Copy =:= M, Copy == M#{nokey => 1}, M2 =:= M]),
    io:format("~p~n", [M < M2]),
    io:format("~p~n", [lists:sort(maps:values(maps:with([key(1), key(500), nokey], M)))]),
    {V, Rest} = maps:take(key(77), M),
    io:format("~p ~p~n", [V, map_size(Rest)]),
    %% keys whose hashes collide in many low bits still find their own values
    C = maps:from_list([{<<I:256>>, I} || I <- lists:seq(1, 3000)]),
    io:format("~p~n", [lists:sum([maps:get(<<I:256>>, C) || I <- lists:seq(1, 3000)])]),
    F = maps:from_list([{I / 8, I} || I <- lists:seq(-2000, 2000)]),
    io:format("~p ~p~n", [maps:get(12.5, F), maps:is_key(12, F)]),
    B = maps:from_list([{1 bsl I, I} || I <- lists:seq(1, 500)]),
    io:format("~p~n", [maps:get(1 bsl 333, B)]),
    io:format("~p~n", [erlang:phash2(lists:sort(maps:to_list(M)))]).

key(I) ->
    case I rem 7 of
        0 -> I;
        1 -> {tuple, I};
        2 -> integer_to_list(I);
        3 -> integer_to_binary(I);
        4 -> list_to_atom("atom_" ++ integer_to_list(I));
        5 -> I * 1.0;
        6 -> #{I => [I]}
    end.

count(none, N) -> N;
count({K, V, I}, N) when K =/= none, is_integer(V) -> count(maps:next(I), N + 1).
