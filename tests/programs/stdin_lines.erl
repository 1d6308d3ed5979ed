%% Reading lines, characters and the rest from standard input up to its end.
-module(stdin_lines).
-export([main/1]).

main(_) ->
    io:format("~p~n", [io:get_line("")]),
    io:format("~p~n", [io:get_line('prompt is printed> ')]),
    io:format("~p~n", [io:get_chars("", 5)]),
    io:format("~p~n", [io:get_chars("", 3)]),
    io:format("~p~n", [io:get_line("")]),
    io:format("~p~n", [file_read_line()]),
    io:format("~tp~n", [io:get_line("")]),
    io:format("~p~n", [io:request(standard_io, {get_line, unicode, ""})]),
    io:format("~p~n", [rest(0)]),
    io:format("~p ~p~n", [io:get_line(""), io:get_chars("", 1)]).

file_read_line() -> io:get_line(standard_io, "").

rest(N) -> case io:get_line("") of eof -> {lines, N}; L when is_list(L) -> rest(N + 1) end.
