%% Comprehensions: several generators, filters that fail, patterns that skip, nesting, bad
%% generators.
-module(list_comprehensions).
-export([main/1, id/1]).

main(_) ->
    io:format("~p~n", [[X * Y || X <- [1, 2, 3], Y <- [10, 20], X =/= 2]]),
    io:format("~p~n", [[{X, Y, Z} || Z <- lists:seq(1, 30), Y <- lists:seq(1, Z),
                        X <- lists:seq(1, Y), X * X + Y * Y =:= Z * Z]]),
    io:format("~p~n", [[X || {ok, X} <- [{ok, 1}, error, {ok, 2}, {no, 3}, {ok, {4}}]]]),
    io:format("~p~n", [[X || [X | _] <- ["abc", [], [z], x, "q"]]]),
    io:format("~p~n", [[X || X <- [1, a, 2, b], X > 1, is_atom(X)]]),
    io:format("~p~n", [[X || X <- [1, a, 2, {}], X + 1 > 2]]),
    io:format("~p~n", [[X || X <- [[1], a, [2, 3], {}], length(X) > 1]]),
    io:format("~p~n", [error_of(fun() -> [X || X <- [1, 2], id(X)] end)]),
    io:format("~p~n", [error_of(fun() -> [X || X <- id(abc)] end)]),
    io:format("~p~n", [error_of(fun() -> [X || X <- id([1, 2 | 3])] end)]),
    io:format("~p~n", [error_of(fun() -> [X || <<X>> <= id(abc)] end)]),
    io:format("~p~n", [[[Y || Y <- X] || X <- [[1, 2], [], [3]]]]),
    io:format("~p~n", [[X || X <- [1, 2, 3], Y <- [X, X], Y > 1]]),
    X = 5,
    io:format("~p~n", [[X || X <- [1, 2]] ++ [X]]),
    io:format("~p~n", [[Y || {K, Y} <- [{1, a}, {5, b}], K =:= X]]),
    io:format("~p~n", [[begin put(c, get(c) + 1), get(c) end || put(c, 0) =:= undefined,
                        _ <- "abc"]]),
    io:format("~p~n", [[A || A <- [], true]]),
    io:format("~p~n", [[x || true]]),
    io:format("~p~n", [[x || false]]),
    io:format("~p~n", [[<<B>> || <<B:4, _:4>> <= <<16#12, 16#34, 16#56>>]]),
    io:format("~p~n", [perms([1, 2, 3, 4])]),
    io:format("~p~n", [qsort([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9])]),
    io:format("~p~n", [lists:sum([A * B || A <- lists:seq(1, 300), B <- lists:seq(A, 300),
                                  (A + B) rem 7 =:= 0])]),
    io:format("~p~n", [[F(3) || F <- [fun(N) -> N + D end || D <- [1, 2, 3]]]]),
    io:format("~p~n", [[{A, B} || A <- [1, 2], B <- case A of 1 -> [x]; 2 -> [y, z] end]]).

perms([]) -> [[]];
perms(L) -> [[H | T] || H <- L, T <- perms(L -- [H])].

qsort([]) -> [];
qsort([P | T]) -> qsort([X || X <- T, X < P]) ++ [P] ++ qsort([X || X <- T, X >= P]).

error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
