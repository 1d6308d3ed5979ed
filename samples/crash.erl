%% A program that crashes deep down: what an uncaught error looks like.
%%
%%     minivm run crash.beam          status 127, and a stack trace on standard error
%%
%% Nothing is caught here. Look at the trace: the error and its reason first, then the function
%% that raised it, then its callers with their lines. Calls that were the last thing a function
%% did (tail calls) leave no frame, which is why step/2 is seen and loop/2 is not.
-module(crash).
-export([main/1]).

main(_) ->
    io:format("about to divide by zero, twenty calls down~n"),
    Answer = loop(3, 20),
    io:format("never printed: ~p~n", [Answer]).

%% Three turns by tail calls: these leave nothing on the stack.
loop(0, Depth) -> step(Depth, fun ratio/1);
loop(Turns, Depth) -> loop(Turns - 1, Depth).

%% Each call has something left to do afterwards, so each one is on the stack.
step(Depth, Work) when Depth rem 2 =:= 0, Depth > 0 ->
    1 + other_step(Depth - 1, Work);
step(0, Work) ->
    Results = lists:map(Work, [4, 2, 0]),
    lists:sum(Results).

other_step(Depth, Work) ->
    2 * step(Depth - 1, Work).

ratio(N) ->
    Half = 100 div N,
    Half + 1.
