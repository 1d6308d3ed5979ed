%% Building, reading, changing tuples; the errors of element and setelement; large tuples.
-module(tuple_basics).
-export([main/1, id/1]).

main(_) ->
    T = {a, 2, "three", {4}, 5.0},
    io:format("~p~n", [[element(I, T) || I <- lists:seq(1, tuple_size(T))]]),
    io:format("~p~n", [[setelement(I, T, new) || I <- lists:seq(1, 5)]]),
    io:format("~p~n", [T]),
    [io:format("~p~n", [error_of(fun() -> element(id(I), id(V)) end)])
     || {I, V} <- [{0, T}, {6, T}, {-1, T}, {a, T}, {1.0, T}, {1 bsl 70, T}, {1, []}, {1, a},
                   {1, {}}]],
    [io:format("~p~n", [error_of(fun() -> setelement(id(I), id(V), x) end)])
     || {I, V} <- [{0, T}, {6, T}, {a, T}, {1, []}, {1, {}}]],
    %% several updates in a row are merged by the compiler
    U = setelement(1, setelement(3, setelement(5, id(T), e), c), a1),
    io:format("~p ~p~n", [T, U]),
    io:format("~p~n", [error_of(fun() -> setelement(1, setelement(9, id(T), e), c) end)]),
    Big = erlang:make_tuple(1000, 0),
    Filled = lists:foldl(fun(I, A) -> setelement(I, A, I * I) end, Big, lists:seq(1, 1000, 7)),
    io:format("~p ~p~n", [tuple_size(Filled), lists:sum(tuple_to_list(Filled))]),
    io:format("~p~n", [erlang:make_tuple(5, x, [{2, two}, {4, four}, {2, again}])]),
    io:format("~p~n", [error_of(fun() -> erlang:make_tuple(id(-1), x) end)]),
    io:format("~p~n", [error_of(fun() -> erlang:make_tuple(2, x, [{3, y}]) end)]),
    io:format("~p ~p~n", [erlang:append_element({a}, b), erlang:delete_element(2, {a, b, c})]),
    io:format("~p ~p~n", [erlang:insert_element(1, {}, a), erlang:insert_element(3, {a, b}, c)]),
    io:format("~p~n", [error_of(fun() -> erlang:insert_element(4, id({a, b}), c) end)]),
    io:format("~p~n", [error_of(fun() -> erlang:delete_element(3, id({a, b})) end)]),
    io:format("~p ~p~n", [list_to_tuple([]), list_to_tuple([1, [2]])]),
    io:format("~p~n", [error_of(fun() -> list_to_tuple(id([1 | 2])) end)]),
    io:format("~p~n", [error_of(fun() -> tuple_to_list(id([1])) end)]),
    io:format("~p~n", [error_of(fun() -> tuple_size(id([1])) end)]),
    io:format("~p~n", [swap({1, 2, 3})]),
    io:format("~p~n", [[classify(X) || X <- [{ok, 1}, {ok, 1, 2}, {error, x}, ok, {}, {error},
                                             {other, 1}]]]),
    {A, {B, [C | _]}, D} = id({1, {2, [3, 4]}, {}}),
    io:format("~p~n", [{A, B, C, D}]),
    io:format("~p~n", [error_of(fun() -> {_, x} = id({1, 2}) end)]),
    Same = id({p, q}),
    {Same, Same} = id({{p, q}, {p, q}}),
    io:format("~p~n", [erlang:phash2(Filled)]).

swap({X, Y, Z}) -> {Z, Y, X}.

classify({ok, _}) -> ok1;
classify({ok, _, _}) -> ok2;
classify({error, R}) -> {error, R};
classify({Tag, _}) -> {unknown, Tag};
classify(T) when is_tuple(T) -> {arity, tuple_size(T)};
classify(_) -> no_tuple.

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
