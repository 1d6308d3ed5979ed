%% send_after, start_timer, cancel_timer, read_timer; timers of dead processes; many at once.
-module(proc_timers).
-export([main/1]).

main(_) ->
    erlang:send_after(20, self(), {msg, 1}),
    io:format("~p~n", [receive {msg, N} -> N after 5000 -> lost end]),
    R = erlang:start_timer(10, self(), payload),
    io:format("~p~n", [receive {timeout, R, P} -> P after 5000 -> lost end]),
    C = erlang:send_after(100000, self(), never),
    Left = erlang:cancel_timer(C),
    io:format("~p ~p~n", [is_integer(Left), Left > 90000 andalso Left =< 100000]),
    io:format("~p~n", [erlang:cancel_timer(C)]),
    io:format("~p~n", [erlang:read_timer(C)]),
    D = erlang:start_timer(100000, self(), x),
    io:format("~p~n", [erlang:read_timer(D) > 90000]),
    io:format("~p~n", [erlang:cancel_timer(D, [{info, false}])]),
    E = erlang:send_after(100000, self(), y),
    ok = erlang:cancel_timer(E, [{async, true}, {info, true}]),
    io:format("~p~n", [receive {cancel_timer, E, T} -> is_integer(T) after 5000 -> lost end]),
    Zero = erlang:start_timer(0, self(), zero),
    io:format("~p~n", [receive {timeout, Zero, Z} -> Z after 5000 -> lost end]),
    [erlang:send_after(Ms, self(), {order, Ms}) || Ms <- [150, 50, 100]],
    io:format("~p~n", [[receive {order, Ms} -> Ms end || _ <- [1, 2, 3]]]),
    register(timer_target, self()),
    erlang:send_after(5, timer_target, by_name),
    io:format("~p~n", [receive by_name -> ok after 5000 -> lost end]),
    erlang:send_after(1, no_such_target, lost),
    {Dead, M} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', M, _, _, _} -> ok end,
    erlang:send_after(1, Dead, lost),
    Abs = erlang:monotonic_time(millisecond) + 15,
    A = erlang:start_timer(Abs, self(), absolute, [{abs, true}]),
    io:format("~p ~p~n", [receive {timeout, A, W} -> W end,
                          erlang:monotonic_time(millisecond) >= Abs]),
    Many = [erlang:send_after(I rem 40, self(), {many, I}) || I <- lists:seq(1, 3000)],
    Cancelled = length([x || {I, Ref} <- lists:zip(lists:seq(1, 3000), Many), I rem 3 =:= 0,
                        erlang:cancel_timer(Ref) =/= false]),
    Got = collect(0),
    io:format("~p~n", [Got + Cancelled]),
    io:format("~p~n",
              [[try F() catch Cl:Er -> {Cl, Er} end
                || F <- [fun() -> erlang:send_after(-1, self(), x) end,
                         fun() -> erlang:send_after(a, self(), x) end,
                       fun() -> erlang:start_timer(1, 1, x) end,
                       fun() -> erlang:cancel_timer(a) end]]]),
    far_times(),
    {ok, Tick} = {ok, spawn_link(fun() -> ticker(5) end)},
    Tick ! {go, self()},
    io:format("~p~n", [[receive {tick, K} -> K end || _ <- lists:seq(1, 5)]]).

%% What 64 bits do not count in nanoseconds from the start of the VM on, and what was before it, is no time.
far_times() ->
    Start = erlang:convert_time_unit(erlang:system_info(start_time), native, millisecond),
    Longest = 9223372036000,
    [io:format("~p~n", [[started(Time, Abs) || Time <- Times]])
     || {Abs, Times} <- [{true, [Start - 2000, Start + Longest - 100000, Start + Longest + 2000, 9000000000000, Longest, 1 bsl 59,
                                 1 bsl 62, 1 bsl 63, -(1 bsl 59), -(1 bsl 70)]},
                         {false, [9000000000000, Longest - 1000000, Longest, 9223372036854, 1 bsl 59, 1 bsl 63, -(1 bsl 63)]}]].

started(Time, Abs) ->
    try erlang:start_timer(Time, self(), far, [{abs, Abs}]) of
        Timer -> is_integer(erlang:cancel_timer(Timer))
    catch
        error:Reason -> Reason
    end.

collect(N) -> receive {many, _} -> collect(N + 1) after 300 -> N end.

ticker(N) -> receive {go, To} -> tick(N, To) end.
tick(0, _) -> ok;
tick(N, To) -> erlang:send_after(2, self(), t), receive t -> To ! {tick, N} end, tick(N - 1, To).
