%% To OTP's PCRE a hyphen behind a class like \d stands for itself; before one it is an error.
-module(re_hyphens_in_classes).
-export([main/1]).

main(_) ->
    [io:format("~ts: ~p~n", [P, [try re:run(S, P, [{capture, first, list}]) catch error:E -> {E, re:compile(P)} end
                                 || S <- ["12-34z", "a-b", "--", "az", "\\d-", "x"]]])
     || P <- ["[\\d-z]+", "[a-\\d]+", "[[:digit:]-z]+", "[a-[:digit:]]+", "[\\w-]+", "[-\\w]+", "[\\s-\\d]+",
              "[\\d-z-a\\w-q]+", "[z-a]", "[\\d-z", "[\\d-z](", "[\\p{Lu}-z]+", "[^\\D-x]+", "[\\-\\d-a]+"]],
    io:format("~p~n", [[case re:compile([lists:duplicate(N, $(), lists:duplicate(N, $))]) of
                            {ok, _} -> ok;
                            E -> E
                        end || N <- [1, 250, 798, 799, 900]]]).
