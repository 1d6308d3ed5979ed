%% `all` stands for every flag, silent, scheduler_id and time stamps included, when they are taken away
%% as well, and they are shown in OTP's order; a tracer that is named for taking flags away has to be
%% the one there is.
-module(trace_all_flags).
-export([main/1]).

main(_) ->
    P = spawn(fun() -> receive after infinity -> ok end end),
    1 = erlang:trace(P, true, [all]),
    show(P),
    1 = erlang:trace(P, false, [all]),
    show(P),
    1 = erlang:trace(P, true, [call, silent, scheduler_id, monotonic_timestamp]),
    Other = spawn(fun() -> receive after infinity -> ok end end),
    io:format("~p~n", [[try erlang:trace(P, How, [call, {tracer, T}]) catch C:R -> {C, R} end ||
                           {How, T} <- [{true, Other}, {false, Other}, {false, self()}]]]),
    show(P),
    1 = erlang:trace(P, false, [all]),
    show(P).

show(P) ->
    {flags, Flags} = erlang:trace_info(P, flags),
    {tracer, Tracer} = erlang:trace_info(P, tracer),
    io:format("~p ~p~n", [Flags, Tracer =:= self()]).
