%% A float instruction that fails tells no function and no error_info, only its line; a function tells
%% both.
-module(float_instruction_errors).
-export([main/1, id/1]).

main(_) ->
    [io:format("~p~n", [try F(?MODULE:id(X)) catch error:E:Trace -> {E, hd(Trace)} end])
     || F <- [fun quotient/1, fun sum/1, fun overflow/1, fun math:exp/1, fun math:sqrt/1],
        X <- [gurka, 1.0e300, 1 bsl 2000]],
    io:format("~p~n", [[monitor_node(node(), true), monitor_node(node(), false),
                        try monitor_node('no@where', true) catch error:E -> E end]]).

id(X) -> X.

quotient(X) ->
    10 / X.

sum(X) ->
    Y = X / 3,
    Y + X * 2.0.

overflow(X) ->
    Y = X * 1.5,
    Y * 1.0e200.
