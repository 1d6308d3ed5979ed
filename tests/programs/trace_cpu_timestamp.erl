%% The flag cpu_timestamp: `timestamp` gives the processor time of the VM, to all who are traced or to nobody.
-module(trace_cpu_timestamp).
-export([main/1, f/1]).

f(X) -> X.

main(_) ->
    erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
    P = spawn(fun Loop() -> receive {go, X} -> f(X), Loop() end end),
    io:format("~p~n", [erlang:trace(P, true, [call, timestamp])]),
    %% Processor time has no more than the seconds that this takes; the clock has decades.
    io:format("~p ~p~n", [clock, is_clock(stamp(P))]),
    io:format("~p~n", [is_integer(erlang:trace(all, true, [cpu_timestamp]))]),
    One = stamp(P), Two = stamp(P),
    io:format("~p ~p ~p~n", [is_clock(One), is_clock(Two), One =< Two]),
    io:format("~p~n", [is_integer(erlang:trace(all, false, [cpu_timestamp]))]),
    io:format("~p~n", [is_clock(stamp(P))]),
    %% Of one process it is refused, and changes nothing.
    io:format("~p~n", [catch_reason(fun() -> erlang:trace(P, true, [cpu_timestamp]) end)]),
    io:format("~p ~p~n", [erlang:trace_info(P, flags), is_clock(stamp(P))]),
    exit(P, kill).

stamp(P) ->
    P ! {go, x},
    receive {trace_ts, P, call, {?MODULE, f, [x]}, Stamp} -> Stamp end.

is_clock({Mega, _, _}) -> Mega > 100.

catch_reason(F) -> try F() catch error:R -> R end.
