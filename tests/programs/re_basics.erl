%% re: run, replace, split, options, captures, unicode, errors.
-module(re_basics).
-export([main/1]).

main(_) ->
    S = "The year 1999 and the year 2024, too",
    io:format("~p~n",
              [[re:run(S, P, [{capture, C, list}]) || P <- ["[0-9]+", "(\\w+) (\\d+)", "zzz",
                                                            "^the"], C <- [all, first, none]]]),
    io:format("~p~n", [re:run(S, "\\d+", [global, {capture, all, index}])]),
    io:format("~p~n", [re:run(S, "(?<word>year) (?<num>\\d+)", [{capture, [num, word], binary}])]),
    io:format("~s~n", [re:replace(S, "year (\\d+)", "Y\\1&", [global, {return, list}])]),
    io:format("~p~n", [[re:split("a, b,c ,,d", "\\s*,\\s*", [{return, list} | O])
                        || O <- [[], [trim], [{parts, 2}]]]]),
    {ok, MP} = re:compile("^(a|b)*c$", [caseless]),
    io:format("~p~n", [[re:run(X, MP, [{capture, none}]) || X <- ["abAbC", "abd", ""]]]),
    io:format("~tp~n", [re:run("åäö", "ä(.)", [unicode, {capture, all, list}])]),
    io:format("~p~n", [re:compile("(unclosed")]),
    io:format("~p~n", [try re:run("a", "[") catch C:E -> {C, E} end]).
