%% The string module: split, trim, case, find, pad, on lists and binaries.
-module(b_string).
-define(REPEAT, 250).
-include("bench.hrl").

once() ->
    T = lists:append(lists:duplicate(100, "the quick brown fox, jumps over -- the lazy dog; ")),
    B = list_to_binary(T),
    {length(string:split(T, " ", all)), length(string:lexemes(B, " ,;-")),
     erlang:phash2(string:titlecase(T)), string:length(T), erlang:phash2(string:uppercase(T)),
     length(string:find(T, "dog", trailing)), erlang:phash2(string:replace(B, "fox", "cat", all)),
     erlang:phash2(string:reverse(T)), length(string:trim("   " ++ T ++ "   "))}.
