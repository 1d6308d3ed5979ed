%% Okasaki's red-black tree with its invariants checked after many insertions.
-module(app_red_black).
-export([main/1]).

main(_) ->
    Keys = [(I * 7919) rem 10007 || I <- lists:seq(1, 5000)],
    T = lists:foldl(fun(K, A) -> insert(K, -K, A) end, empty, Keys),
    io:format("~p ~p~n", [length(to_list(T)), to_list(T) =:= lists:usort([{K, -K} || K <- Keys])]),
    io:format("~p ~p~n", [black_height(T), no_red_red(T)]),
    io:format("~p~n", [[find(K, T) || K <- [0, 1, 5000, 7919, 10006, 10007, abc]]]),
    Seq = lists:foldl(fun(K, A) -> insert(K, K, A) end, empty, lists:seq(1, 4096)),
    io:format("~p ~p ~p~n", [depth(Seq) =< 24, black_height(Seq), no_red_red(Seq)]),
    io:format("~p~n", [lists:foldl(fun(K, A) -> insert(K, v, A) end, empty, [5, 2, 8, 1, 9, 3])]).

insert(K, V, T) -> {_, L, KV, R} = ins(K, V, T), {b, L, KV, R}.
ins(K, V, empty) -> {r, empty, {K, V}, empty};
ins(K, V, {C, L, {X, _} = KV, R}) when K < X -> balance({C, ins(K, V, L), KV, R});
ins(K, V, {C, L, {X, _} = KV, R}) when K > X -> balance({C, L, KV, ins(K, V, R)});
ins(K, V, {C, L, _, R}) -> {C, L, {K, V}, R}.
balance({b, {r, {r, A, X, B}, Y, C}, Z, D}) -> {r, {b, A, X, B}, Y, {b, C, Z, D}};
balance({b, {r, A, X, {r, B, Y, C}}, Z, D}) -> {r, {b, A, X, B}, Y, {b, C, Z, D}};
balance({b, A, X, {r, {r, B, Y, C}, Z, D}}) -> {r, {b, A, X, B}, Y, {b, C, Z, D}};
balance({b, A, X, {r, B, Y, {r, C, Z, D}}}) -> {r, {b, A, X, B}, Y, {b, C, Z, D}};
balance(T) -> T.

find(_, empty) -> none;
find(K, {_, L, {X, _}, _}) when K < X -> find(K, L);
find(K, {_, _, {X, _}, R}) when K > X -> find(K, R);
find(_, {_, _, {_, V}, _}) -> {ok, V}.
to_list(empty) -> [];
to_list({_, L, KV, R}) -> to_list(L) ++ [KV | to_list(R)].
depth(empty) -> 0;
depth({_, L, _, R}) -> 1 + max(depth(L), depth(R)).
black_height(empty) -> 1;
black_height({C, L, _, R}) ->
    H = black_height(L), H = black_height(R), H + case C of b -> 1; r -> 0 end.
no_red_red({r, {r, _, _, _}, _, _}) -> false;
no_red_red({r, _, _, {r, _, _, _}}) -> false;
no_red_red({_, L, _, R}) -> no_red_red(L) andalso no_red_red(R);
no_red_red(empty) -> true.
