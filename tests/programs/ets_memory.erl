%% erlang:memory(ets) was the memory of the whole VM.
-module(ets_memory).
-export([main/1]).

main(_) ->
    Before = erlang:memory(ets),
    T = ets:new(t, [ordered_set]),
    [ets:insert(T, {N, lists:seq(1, 20)}) || N <- lists:seq(1, 10000)],
    Words = ets:info(T, memory),
    Full = erlang:memory(ets),
    io:format("~p~n", [Full - Before >= 10000 * 20 * 2 * 8]),
    io:format("~p~n", [near(Full, Before + Words * 8)]),
    [{ets, Same}] = erlang:memory([ets]),
    io:format("~p~n", [near(Same, Full)]),
    ets:delete(T),
    until_back(Before),
    io:format("~p~n", [erlang:memory(ets) < erlang:memory(total)]).

%% Tables of others may change meanwhile.
near(A, B) ->
    abs(A - B) < 100000.

%% A table may be given back some time after it was deleted.
until_back(Before) ->
    case near(erlang:memory(ets), Before) of
        true -> io:format("back~n");
        false -> timer:sleep(10), until_back(Before)
    end.
