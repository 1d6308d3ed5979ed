%% io_lib: write, print, format to iolists, char tests, fread, limits.
-module(io_lib_misc).
-export([main/1]).

main(_) ->
    io:format("~s~n", [io_lib:write({a, [1, "s"], <<"b">>})]),
    io:format("~s~n", [io_lib:write([1, 2, 3, 4, 5, 6], 4)]),
    io:format("~s ~s ~s~n", [io_lib:write_atom('a b'), io_lib:write_string("q\"\n"), io_lib:write_char($a)]),
    io:format("~s~n", [io_lib:print({a, lists:seq(1, 40)}, 1, 40, -1)]),
    io:format("~p~n", [[io_lib:printable_list(X) || X <- ["abc", [1], "a\n", [255], [8364], a, []]]]),
    io:format("~p~n", [[io_lib:printable_unicode_list(X) || X <- ["abc", [1], [8364], [16#D800]]]]),
    io:format("~p~n", [[io_lib:latin1_char_list(X) || X <- ["abc", [256], [a]]]]),
    io:format("~p~n", [[io_lib:char_list(X) || X <- ["abc", [8364], [16#110000], x]]]),
    io:format("~p~n", [[io_lib:deep_char_list(X) || X <- [["a", ["b"]], ["a" | b]]]]),
    io:format("~s|~s~n", [io_lib:nl(), [io_lib:indentation("abc\ndef", 0) + $0]]),
    Fread = [{"~d", "42"}, {"~d ~d", "1 2 rest"}, {"~s", "  word next"}, {"~c", "xyz"}, {"~3c", "xyz"}, {"~f", "3.5e2 x"}, {"~a", "atom b"}, {"~16u", "ff"}, {"~d", "abc"}, {"~d", ""}, {"a~db", "a5b"}, {"a~db", "a5c"},
             {"~l~d", "77"}, {"~*d ~d", "1 2"}, {"~2d~d", "1234"}, {"~#", "16#1F"}, {"~-d", "-5"}, {"~s ~s", "one"}, {"~~~d", "~9"}, {"~8u", "779"}],
    [io:format("~p ~p -> ~p~n", [F, S, try io_lib:fread(F, S) catch C:R -> {C, R} end]) || {F, S} <- Fread],
    io:format("~p~n", [lists:flatten(io_lib:format("~s ~w", ["a", b]))]),
    io:format("~p~n", [iolist_to_binary(io_lib:format("~p ~s ~.2f", [[1, 2], "x", 1.0]))]),
    io:format("~p~n", [unicode:characters_to_binary(io_lib:format("~ts", [[8364]]))]),
    io:format("~s~n", [io_lib:format("~p", [lists:seq(1, 100)], [{chars_limit, 40}])]),
    io:format("~s~n", [io_lib:format("~p and ~w", [lists:seq(1, 100), lists:seq(1, 100)], [{chars_limit, 80}])]),
    io:format("~s~n", [io_lib:format("~s", ["a long string that is cut somewhere"], [{chars_limit, 10}])]),
    io:format("~p~n", [io_lib:scan_format("~10.2.*f x ~p", [$*, 1.0, a])]),
    io:format("~s~n", [io_lib:build_text(io_lib:scan_format("~5w|~p", [1, a]))]),
    io:format("~p~n", [io_lib:unscan_format(io_lib:scan_format("~10.2.*f x ~p", [$*, 1.0, a]))]),
    io:format(standard_error, "to stderr ~p~n", [1]),
    io:put_chars("put_chars\n"), io:put_chars(<<"binary åäö\n"/utf8>>), io:put_chars(["deep", ["list" | <<"\n">>]]),
    io:write({term, "w"}), io:nl(), io:fwrite("~s~n", ["fwrite"]), io:fwrite("plain~n"),
    io:format(user, "to user~n", []),
    io:format("~p~n", [try io:format("~w ~w", [1]) catch C4:R4 -> {C4, R4} end]),
    io:format("~p~n", [io:columns()]).
