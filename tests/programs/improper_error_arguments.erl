%% erlang:error/2 shows whatever list it gets as the arguments, a proper one or not: improper ones
%% were left out.
-module(improper_error_arguments).
-export([main/1]).

main(_) ->
    io:format("~p~n", [[try fails(A) catch error:why:Trace -> element(3, hd(Trace)) end
                        || A <- [none, [], [1 | a], abc, {1}, [a, b], [[a | b]]]]]).

fails(A) -> erlang:error(why, A).
