%% Programs of OTP's own folders are found by their names, as under erl.
-module(program_path).
-export([main/1]).

main(_) ->
    First = [lists:last(filename:split(D)) || D <- lists:sublist(string:lexemes(os:getenv("PATH"), ":"), 2)],
    io:format("~p~n", [First]),
    [io:format("~p ~p~n", [Name, is_list(os:find_executable(Name))]) || Name <- ["inet_gethost", "erl_child_setup", "erlexec", "no_such_program"]].
