%% statistics(microstate_accounting) and scheduler_wall_time: time is counted while it is asked for, in the order
%% of things that each thread does, and what has been counted stays until it is reset.
-module(microstate_accounting).
-export([main/1]).

main(_) ->
    io:format("~p~n", [[flag(Value) || Value <- [false, foo, 7, reset, true, true, reset, false, false]]]),
    flag(reset),
    Stats = erlang:statistics(microstate_accounting),
    io:format("~p~n", [lists:usort([{lists:sort(maps:keys(S)), lists:sort(maps:keys(C))} ||
                                       #{counters := C} = S <- Stats])]),
    io:format("~p~n", [[sum(Type, Stats) || Type <- [scheduler, dirty_cpu_scheduler, dirty_io_scheduler, poll]]]),
    io:format("~p~n", [[Id || #{type := scheduler, id := Id} <- Stats, Id =:= 1]]),
    flag(true),
    busy_until(fun() -> counter(gc) > 0 andalso counter(emulator) > 0 end),
    %% A thread does one thing at a time: what schedulers did is not much more than the time that went by (clocks differ).
    Begin = erlang:monotonic_time(),
    A = scheduler_times(),
    busy_until(fun() -> erlang:monotonic_time() - Begin > erlang:convert_time_unit(20, millisecond, native) end),
    B = scheduler_times(),
    Passed = erlang:convert_time_unit(erlang:monotonic_time() - Begin, native, perf_counter),
    io:format("~p~n", [[{Y >= X, Y - X =< 2 * Passed} || {X, Y} <- lists:zip(A, B)] --
                           lists:duplicate(length(A), {true, true})]),
    flag(false),
    %% Threads of erl that were in the midst of something count that to its end, after the answer. One that went on
    %% for ever would keep this waiting.
    Freezes = fun Freezes() ->
                      Counted = erlang:statistics(microstate_accounting),
                      busy_until(fun() -> true end),
                      Counted =:= erlang:statistics(microstate_accounting) orelse Freezes()
              end,
    io:format("~p~n", [Freezes()]),
    flag(reset),
    io:format("~p~n", [sum(scheduler, erlang:statistics(microstate_accounting))]),
    wall_time().

flag(Value) ->
    try erlang:system_flag(microstate_accounting, Value) catch error:Reason -> Reason end.

sum(Type, Stats) -> lists:sum([lists:sum(maps:values(C)) || #{type := T, counters := C} <- Stats, T =:= Type]).

counter(Name) ->
    lists:sum([maps:get(Name, C) || #{counters := C} <- erlang:statistics(microstate_accounting)]).

scheduler_times() ->
    [lists:sum(maps:values(C)) || #{type := scheduler, counters := C} <- erlang:statistics(microstate_accounting)].

busy_until(Done) ->
    _ = length([{N} || N <- lists:seq(1, 10000)]),
    erlang:garbage_collect(),
    case Done() of
        true -> ok;
        false -> busy_until(Done)
    end.

wall_time() ->
    undefined = erlang:statistics(scheduler_wall_time),
    false = erlang:system_flag(scheduler_wall_time, true),
    Grows = fun Grows(Old) ->
                    New = lists:sum([Active || {_, Active, _} <- erlang:statistics(scheduler_wall_time)]),
                    busy_until(fun() -> true end),
                    New > Old orelse Grows(Old)
            end,
    io:format("~p~n", [Grows(0)]),
    All = erlang:statistics(scheduler_wall_time_all),
    io:format("~p~n", [[{A, T} || {_, A, T} <- All, A < 0 orelse A > T]]),
    io:format("~p ~p~n", [length(erlang:statistics(scheduler_wall_time)) =:=
                              erlang:system_info(schedulers) + erlang:system_info(dirty_cpu_schedulers),
                          length(All) =:= erlang:system_info(schedulers) +
                              erlang:system_info(dirty_cpu_schedulers) +
                              erlang:system_info(dirty_io_schedulers)]),
    io:format("~p~n", [erlang:system_flag(scheduler_wall_time, false)]),
    Queues = erlang:system_info(schedulers),
    io:format("~p ~p~n", [[length(erlang:statistics(Item)) - Queues ||
                           Item <- [run_queue_lengths, run_queue_lengths_all, active_tasks, active_tasks_all]],
                          tuple_size(erlang:statistics(run_queues)) - Queues]).
