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
    io:format("~p~n", [erlang:system_flag(trace_control_word, 0)]),
    numbers_beyond_what_is_kept(),
    defaults_of_the_largest_heap().

%% Numbers that are more than the VM keeps are as the largest one.
numbers_beyond_what_is_kept() ->
    [begin
         Former = erlang:system_flag(Flag, 5),
         io:format("~p ~p~n", [Flag, [catch_reason(fun() -> erlang:system_flag(Flag, N) end)
                                      || N <- [Most + 1, 1 bsl 40, 1 bsl 62, -1, x, Most, Former]]])
     end || {Flag, Most} <- [{backtrace_depth, 1024}, {backtrace_depth, 64}, {fullsweep_after, 65535}]].

%% What a later max_heap_size leaves out is as the flag says.
defaults_of_the_largest_heap() ->
    io:format("~p~n", [erlang:system_flag(max_heap_size, #{size => 0, kill => false})]),
    io:format("~p~n", [process_flag(max_heap_size, 10000)]),
    io:format("~p~n", [process_flag(max_heap_size, #{size => 0, error_logger => false})]),
    io:format("~p~n", [process_flag(max_heap_size, 0)]),
    Self = self(),
    spawn_opt(fun() -> Self ! process_info(self(), max_heap_size) end, [{max_heap_size, 100000}]),
    receive Info -> io:format("~p~n", [Info]) end,
    [io:format("~p~n", [catch_reason(fun() -> erlang:system_flag(max_heap_size, N) end)])
     || N <- [1, 232, -1, x, #{}, #{size => 1}, #{size => 0, kill => 1}, #{size => 0, kill => true}, 0]].

catch_reason(F) ->
    try F() catch error:Reason -> Reason end.
