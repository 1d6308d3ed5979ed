%% main/1 gets the arguments as strings, empty ones and ones beyond ASCII included.
-module(args_main).
-export([main/1]).

main(Args) ->
    io:format("~p~n", [length(Args)]),
    [io:format("~tp ~w~n", [A, A]) || A <- Args],
    io:format("~p~n",
              [lists:sum([list_to_integer(A) || A <- Args, A =/= "",
                          lists:all(fun(C) -> C >= $0 andalso C =< $9 end, A)])]).
