%% Lists: cons, match, improper, length errors, ++ and --, subtraction order, hd and tl.
-module(list_basics).
-export([main/1, id/1]).

main(_) ->
    io:format("~p~n", [[[1, 2, 3], [1, 2 | 3], [[]], [a | [b | [c | []]]], "abc",
                        [1, a, "s", <<"b">>]]]),
    [A, B | T] = id([1, 2, 3, 4]),
    io:format("~p ~p ~p~n", [A, B, T]),
    io:format("~p~n", [[error_of(F) || F <- [fun() -> hd(id([])) end, fun() -> tl(id([])) end,
                                             fun() -> hd(id(a)) end,
                                            fun() -> length(id([1 | 2])) end,
                                            fun() -> length(id(a)) end,
                                            fun() -> id([1 | 2]) ++ [3] end,
                                            fun() -> id(a) ++ [1] end,
                                            fun() -> id([1]) -- id(a) end,
                                            fun() -> id([1 | 2]) -- [1] end,
                                            fun() -> lists:reverse(id([1 | 2])) end,
                                            fun() -> lists:reverse(id(x)) end]]]),
    io:format("~p~n", [[id([1]) ++ 2, id([]) ++ foo, id([]) ++ [], [1, 2] ++ id([3]) ++ [4]]]),
    io:format("~p~n", [[[1, 2, 3, 2, 1] -- [2], [1, 2, 3, 2, 1] -- [2, 2, 1], [1, 2] -- [1.0],
                        [] -- [1], [a, b] -- [], [1, 1.0, 1] -- [1.0]]]),
    L = lists:seq(1, 3000),
    io:format("~p~n", [lists:sum((L ++ L) -- lists:seq(1, 3000, 2))]),
    io:format("~p~n", [length((L ++ L ++ L) -- (lists:reverse(L) ++ [x, y, z]))]),
    io:format("~p~n", [[shape(X) || X <- [[], [1], [1, 2], [1, 2, 3], [1 | 2], a, [[1]], "x"]]]),
    io:format("~p~n", [rotate([1, 2, 3, 4, 5], 2)]),
    io:format("~p~n", [zip3([1, 2], [a, b], [x, y])]),
    io:format("~p~n", [error_of(fun() -> zip3([1, 2], [a], [x]) end)]),
    io:format("~p~n", [lists:reverse(id([1, 2, 3]), id(tail))]),
    io:format("~p~n", [length(id(lists:duplicate(100000, x)))]),
    io:format("~p~n", [flatten([1, [2, [3, []], [[[4]]]], 5])]),
    io:format("~p~n", [[lists:member(X, [1, 2.0, a, "s"]) || X <- [1, 1.0, 2, 2.0, a, "s", b]]]),
    io:format("~p~n", [error_of(fun() -> lists:member(x, id([a | b])) end)]),
    io:format("~p~n", [lists:keyfind(2, 1, [{1, a}, x, {}, {2.0, b}, {2, c}])]),
    io:format("~p~n", [lists:keymember(c, 2, [{1, a}, {2, c}])]),
    io:format("~p~n", [lists:keysearch(c, 2, [{1, a}, {2, c}])]),
    io:format("~p~n", [error_of(fun() -> lists:keyfind(a, id(0), []) end)]).

shape([]) -> nil;
shape([_]) -> one;
shape([_, _]) -> two;
shape([_, _ | T]) when is_list(T) -> more;
shape([_ | _]) -> improper;
shape(_) -> no_list.

rotate(L, 0) -> L;
rotate([H | T], N) -> rotate(T ++ [H], N - 1).

zip3([A | As], [B | Bs], [C | Cs]) -> [{A, B, C} | zip3(As, Bs, Cs)];
zip3([], [], []) -> [].

flatten([H | T]) -> flatten(H) ++ flatten(T);
flatten([]) -> [];
flatten(X) -> [X].

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
