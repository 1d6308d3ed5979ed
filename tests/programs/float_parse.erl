%% Text to float: what is accepted, what rounds how, what is refused.
-module(float_parse).
-export([main/1]).

main(_) ->
    Texts = ["0.0", "1.0", "+1.5", "-1.5", "1.0e3", "1.0E3", "1.0e+3", "1.0e-3",
             "123456789.123456789", "1.7976931348623157e308",
             "1.7976931348623159e308", "1.0e309", "4.9406564584124654e-324", "2.0e-324", "1.0e-400",
             "0.1000000000000000055511151231257827021181583404541015625", "9007199254740993.0",
             "9007199254740992.9999999",
             "1", "1.", ".5", "1e3", "1.0e", "1.0e+", "", " 1.0", "1.0 ", "1.0x", "--1.0", "inf",
             "nan", "0x1.0", "1.0e3.0",
             "00001.5", "1.0e0000003", "123456789012345678901234567890.0"],
    [io:format("~p ~p ~p~n", [T, result(fun() -> list_to_float(T) end),
                              result(fun() -> binary_to_float(list_to_binary(T)) end)])
                              || T <- Texts],
    [io:format("~p ~p~n", [T, string:to_float(T)]) || T <- ["1.5abc", "3", "x", "-2.0e5 7",
                                                            "1.0e999", <<"2.5rest">>, ""]],
    [io:format("~p~n", [result(fun() -> list_to_float(X) end)])
     || X <- [a, [$1 | $2], 1.0, [[$1]], [foo]]],
    [io:format("~p ", [bits(list_to_float(T))]) || T <- ["1.0", "-2.0", "0.1", "5.0e-324",
                                                         "1.7976931348623157e308"]],
    io:nl().

bits(F) -> <<N:64>> = <<F/float>>, N.
result(F) -> try F() catch C:R -> {C, R} end.
