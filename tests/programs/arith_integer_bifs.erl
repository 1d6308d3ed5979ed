%% abs, min, max, integer text conversions, their ranges and their errors.
-module(arith_integer_bifs).
-export([main/1, id/1]).

main(_) ->
    io:format("~p~n", [[abs(id(N)) || N <- [0, -1, 5, -(1 bsl 59), -(1 bsl 60), -(1 bsl 64),
                                            1 bsl 90, -0.5, 2.5]]]),
    io:format("~p~n", [[{min(A, B), max(A, B)} || {A, B} <- [{1, 2}, {2, 1}, {a, 1}, {1, 1.0},
                                                             {1.0, 1}, {[], {}}, {"a", <<"a">>}]]]),
    [io:format("~2b ~s ~s~n", [B, integer_to_list(N, B), integer_to_binary(-N, B)])
     || B <- [2, 3, 7, 8, 10, 12, 16, 32, 35, 36], N <- [0, 1, 35, 36, 1295, 16#DEADBEEF,
                                                         (1 bsl 64) - 1]],
    Texts = ["0", "-0", "+0", "12", "-12", "+12", "007", "123456789012345678901234567890",
             "-576460752303423488",
             "-576460752303423489", "576460752303423487", "576460752303423488",
             "1152921504606846975",
             "1152921504606846976", "-1152921504606846976", "-1152921504606846977", "", "-", "+",
             "1 ", " 1", "1.0",
             "a", "0x1", "--1", "12a", "1_000"],
    [io:format("~p ~p ~p~n", [T, result(fun() -> list_to_integer(T) end),
                              result(fun() -> binary_to_integer(list_to_binary(T)) end)])
     || T <- Texts],
    Based = [{"zz", 36}, {"ZZ", 36}, {"ff", 16}, {"FF", 16}, {"-Ff", 16}, {"g", 16}, {"2", 2},
             {"101", 2}, {"-101", 2},
             {"1", 1}, {"1", 37}, {"1", a}, {lists:duplicate(100, $f), 16}],
    [io:format("~p ~p~n", [T, result(fun() -> list_to_integer(T, B) end)]) || {T, B} <- Based],
    [io:format("~p ~p~n", [{A, B}, result(fun() -> integer_to_list(A, B) end)])
     || {A, B} <- [{1, 1}, {1, 37}, {a, 10}, {1.0, 10}, {5, a}]],
    [io:format("~p ~p~n", [T, string:to_integer(T)]) || T <- ["12abc", "-7", "abc", "", "+3.4",
                                                              "99999999999999999999 x",
                                                              <<"44 z">>]],
    io:format("~p~n", [result(fun() -> list_to_integer(id([$1 | $2])) end)]),
    io:format("~p~n", [result(fun() -> list_to_integer(id([$1, a])) end)]),
    io:format("~p~n", [result(fun() -> list_to_integer(id(foo)) end)]),
    io:format("~p~n", [[trunc(id(X)) || X <- [1, 1 bsl 70, 2.7, -2.7]]]).

result(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
