%% erlang:memory(ets) was the memory of the whole VM.
-module(ets_memory).
-export([main/1]).

main(_) ->
    Before = erlang:memory(ets),
    T = ets:new(t, [ordered_set]),
    [ets:insert(T, {N, lists:seq(1, 20)}) || N <- lists:seq(1, 1000)],
    Words = ets:info(T, memory),
    Full = erlang:memory(ets),
    io:format("~p~n", [Full - Before >= 1000 * 20 * 2 * 8]),
    io:format("~p~n", [abs(Full - Before - Words * 8) < 10000]),
    [{ets, Same}] = erlang:memory([ets]),
    io:format("~p~n", [abs(Same - Full) < 10000]),
    ets:delete(T),
    io:format("~p~n", [abs(erlang:memory(ets) - Before) < 10000]),
    io:format("~p~n", [erlang:memory(ets) < erlang:memory(total)]).
