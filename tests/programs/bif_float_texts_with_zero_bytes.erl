%% The text of a float ends at its first zero byte, as that of the oldest external format does.
-module(bif_float_texts_with_zero_bytes).
-export([main/1]).

main(_) ->
    [io:format("~p~n", [[try F(Text) catch C:E -> {C, E} end
                         || F <- [fun list_to_float/1, fun(T) -> binary_to_float(list_to_binary(T)) end,
                                  fun list_to_integer/1, fun(T) -> binary_to_integer(list_to_binary(T)) end]]])
     || Text <- ["1.14e+00\0\0", "1.5\0", "1.5\0x", "\0", "\0" "1.5", "1.5 ", "0.0\0", "1.5e\0", "1\0.5", "12\0"]],
    <<131, 99, Text:31/binary>> = term_to_binary(1.14, [{minor_version, 0}]),
    io:format("~p~n", [binary_to_float(Text)]).
