%% io:read, io:fread, io:scan_erl_exprs and io:parse_erl_exprs on standard input.
-module(stdin_terms).
-export([main/1]).

main(_) ->
    io:format("~p~n", [io:read("")]),
    io:format("~p~n", [io:read("")]),
    io:format("~p~n", [io:read("")]),
    case io:read("") of {error, _} -> io:format("a syntax error~n");
        Other -> io:format("~p~n", [Other]) end,
    io:format("~p~n", [io:get_line("")]),
    io:format("~p~n", [io:fread("", "~d ~s ~f")]),
    io:format("~p~n", [io:fread("", "~d,~d")]),
    io:format("~p~n", [io:get_line("")]),
    {ok, Tokens, _} = io:scan_erl_exprs(""),
    io:format("~p~n", [[element(1, T) || T <- Tokens]]),
    {ok, Exprs, _} = io:parse_erl_exprs(""),
    io:format("~p~n", [element(2, erl_eval:exprs(Exprs, []))]),
    io:format("~p~n", [io:read("")]),
    io:format("~p~n", [io:fread("", "~d")]).
