%% receive ... after with 0, short times, infinity, computed times; nothing is lost or taken early.
-module(proc_timeouts).
-export([main/1]).

main(_) ->
    io:format("~p~n", [receive X -> X after 0 -> nothing end]),
    self() ! hello,
    io:format("~p~n", [receive Y -> Y after 0 -> nothing end]),
    self() ! unmatched,
    io:format("~p~n", [receive matched -> yes after 0 -> no end]),
    T0 = erlang:monotonic_time(millisecond),
    io:format("~p~n", [receive matched -> yes after 30 -> no end]),
    D = erlang:monotonic_time(millisecond) - T0,
    io:format("~p ~p~n", [D >= 29, D < 2000]),
    io:format("~p~n", [receive Z -> Z after infinity -> never end]),
    Self = self(),
    spawn(fun() -> receive after 20 -> Self ! late end end),
    io:format("~p~n", [receive late -> late after 5000 -> timed_out end]),
    [timer_loop(T) || T <- [0, 1, 2, 5]],
    Inf = infinity_or(true),
    spawn(fun() -> Self ! now end),
    io:format("~p~n", [receive now -> now after Inf -> never end]),
    %% processes with different sleeps wake in order
    [spawn(fun() -> receive after Ms -> Self ! {woke, Ms} end end) || Ms <- [120, 40, 80]],
    io:format("~p~n", [[receive {woke, Ms} -> Ms end || _ <- [1, 2, 3]]]),
    timer:sleep(1),
    io:format("~p~n", [receive after 3 -> slept end]),
    %% messages that do not match do not restart the timeout
    Noise = spawn(fun() -> noise(Self) end),
    T1 = erlang:monotonic_time(millisecond),
    R = receive wanted -> wanted after 60 -> timeout end,
    T2 = erlang:monotonic_time(millisecond),
    exit(Noise, kill),
    io:format("~p ~p~n", [R, T2 - T1 < 1500]),
    flush(),
    io:format("~p~n", [try receive after -1 -> x end catch error:E -> E end]),
    io:format("~p~n", [try receive after (1 bsl 32) -> x end catch error:E2 -> E2 end]),
    self() ! x,
    io:format("~p~n", [receive x -> in_time after 16#FFFFFFFF -> no end]),
    io:format("~p~n",
              [length([begin receive nope -> ok after 0 -> ok end end
                       || _ <- lists:seq(1, 100000)])]).

timer_loop(T) -> receive after T -> ok end.
infinity_or(true) -> infinity;
infinity_or(false) -> 0.
noise(To) -> To ! noise, receive after 5 -> noise(To) end.
flush() -> receive noise -> flush() after 0 -> ok end.
