%% erlang:error/3 takes what is no list as no arguments, a list without an end as it is.
-module(exc_error_3_arguments).
-export([start/0, raise/3]).

start() ->
    [show(Arguments, Options)
     || Arguments <- [none, undefined, {}, 1, [], [1, 2], [1 | 2], [a | none]],
        Options <- [[], foo, [{error_info, #{}}], [{error_info, #{cause => x}} | y], [{error_info, no}]]],
    ok.

show(Arguments, Options) ->
    try raise(reason, Arguments, Options)
    catch Class:Reason:Trace ->
            io:format("~0p ~0p: ~p ~p ~0p~n", [Arguments, Options, Class, Reason, hd(Trace)])
    end.

raise(Reason, Arguments, Options) -> erlang:error(Reason, Arguments, Options).
