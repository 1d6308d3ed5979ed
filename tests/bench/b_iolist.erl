%% Text: concatenation, iolists, io_lib:format, joins, conversions.
-module(b_iolist).
-define(REPEAT, 64).
-include("bench.hrl").

once() ->
    Io = [[integer_to_list(N), $,, atom_to_list(abc), <<" bin ">>, "str"]
          || N <- lists:seq(1, 5000)],
    B = iolist_to_binary(Io),
    S = lists:append([integer_to_list(N) ++ ";" || N <- lists:seq(1, 5000)]),
    F = [io_lib:format("~p ~s ~w~n", [N, "text", {a, N}]) || N <- lists:seq(1, 300)],
    {byte_size(B), length(S), iolist_size(F), length(binary:split(B, <<",">>, [global])),
     length(string:lexemes(S, ";"))}.
