%% Programs of OTP's own folders are found by their names, as under erl; its resolver is one of them.
-module(program_path).
-export([main/1]).

main(_) ->
    First = [lists:last(filename:split(D)) || D <- lists:sublist(string:lexemes(os:getenv("PATH"), ":"), 2)],
    io:format("~p~n", [First]),
    [io:format("~p ~p~n", [Name, is_list(os:find_executable(Name))]) || Name <- ["inet_gethost", "erl_child_setup", "erlexec", "no_such_program"]],
    [io:format("~p ~p~n", [Name, init:get_argument(Name)]) || Name <- [root, bindir, home, noshell, no_such_flag]],
    io:format("~p~n", [[Name || {Name, _} <- init:get_arguments(), lists:member(Name, [root, bindir, progname, home, noshell])]]),
    {ok, Local} = inet_gethost_native:gethostbyname("localhost"),
    io:format("~p ~p~n", [element(1, Local), element(2, Local)]).
