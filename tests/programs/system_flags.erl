%% Flags of the whole VM that programs ask for and get back as they were.
-module(system_flags).
-export([main/1]).

main(_) ->
    io:format("~p~n", [lists:member(erlang:system_flag(multi_scheduling, unblock), [enabled, disabled])]),
    io:format("~p~n", [catch_reason(fun() -> erlang:system_flag(multi_scheduling, sometimes) end)]),
    io:format("~p~n", [catch_reason(fun() -> erlang:system_flag(no_such_flag, 1) end)]),
    Online = erlang:system_info(schedulers_online),
    io:format("~p~n", [erlang:system_flag(schedulers_online, Online) =:= Online]),
    Depth = erlang:system_flag(backtrace_depth, 5),
    io:format("~p ~p~n", [Depth, erlang:system_flag(backtrace_depth, Depth)]),
    Heap = erlang:system_flag(min_heap_size, 1000),
    io:format("~p~n", [erlang:system_flag(min_heap_size, Heap) >= 1000]),
    io:format("~p~n", [erlang:system_flag(trace_control_word, 7)]),
    io:format("~p~n", [erlang:system_flag(trace_control_word, 0)]).

catch_reason(F) ->
    try F() catch error:Reason -> Reason end.
