%% Every way of writing a float.
-module(float_format).
-export([main/1, id/1]).

main(_) ->
    Fs = [0.0, 1.0, -1.0, 0.1, 0.2, 0.3, 1/3, 2/3, 100.0, 123456.789, 1.0e15, 1.0e16, 9.99e20,
          1.0e21, 1.0e22,
          1.0e23, 9007199254740992.0, 9007199254740993.0, 1.0e-4, 1.0e-5, 1.0e-6, 1.0e-7, 123.0e-10,
          5.0e-324,
          2.2250738585072014e-308, 2.225073858507201e-308, 1.7976931348623157e308, -2.5e-10,
          3.141592653589793,
          2.718281828459045, 4.35, 0.000001, 1.0e100, 1.5e300, 12345678.9, 0.5, 0.25, 1.0e3],
    lists:foreach(fun(F) ->
                          io:format("~p ~w ~s ~s~n", [F, F, float_to_list(F), float_to_binary(F)]),
                          io:format("  ~s ~s~n", [float_to_list(F, [short]),
                                                  float_to_list(F, [{scientific, 5}])]),
                          F = list_to_float(float_to_list(F, [short])),
                          F = list_to_float(float_to_list(F)),
                          F = binary_to_float(float_to_binary(F, [short]))
                  end, Fs),
    [io:format("~p ~s ~s ~s~n", [F, float_to_list(F, [{decimals, D}]),
                                 float_to_list(F, [{decimals, D}, compact]),
                                 float_to_binary(F, [{scientific, D}])])
     || F <- [0.0, 1.0, 0.125, 2.5, 3.5, -0.375, 1234.5678, 999.9999, 1.0e-5, 1.0e15],
     D <- [0, 1, 2, 3, 7, 10]],
    io:format("~s~n", [float_to_list(1.0e22, [{decimals, 10}])]),
    io:format("~s~n", [float_to_list(0.1, [{decimals, 60}])]),
    io:format("~s~n", [float_to_list(0.1, [{scientific, 60}])]),
    [io:format("~p~n", [try float_to_list(id(1.0), O) catch C:R -> {C, R} end])
     || O <- [[{decimals, -1}], [{decimals, 254}], [{scientific, -2}], [{scientific, 250}], [foo],
              foo, [{decimals, a}]]],
    [io:format("~p~n", [try float_to_list(id(V)) catch C:R -> {C, R} end]) || V <- [1, a, "1.0"]].

id(X) -> X.
