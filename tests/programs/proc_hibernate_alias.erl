%% hibernate, aliases, yield, garbage_collect of oneself and others.
-module(proc_hibernate_alias).
-export([main/1, wake/2]).

main(_) ->
    Self = self(),
    P = spawn(fun() -> Big = lists:seq(1, 10000),
                  erlang:hibernate(?MODULE, wake, [Self, {length(Big), [kept, "args"]}]) end),
    P ! hello,
    io:format("~p~n", [receive {woke, X} -> X end]),
    P ! again,
    io:format("~p~n", [receive {woke, Y} -> Y end]),
    A = alias(),
    A ! via_alias,
    io:format("~p~n", [receive via_alias -> got end]),
    io:format("~p ~p~n", [unalias(A), unalias(A)]),
    A ! lost,
    io:format("~p~n", [receive lost -> got after 10 -> dropped end]),
    B = alias([reply]),
    spawn(fun() -> B ! {reply, 1}, B ! {reply, 2} end),
    io:format("~p~n", [receive {reply, N} -> N end]),
    io:format("~p~n", [receive {reply, N2} -> N2 after 50 -> only_once end]),
    %% a monitor that is an alias too: the way gen:call is done
    Server = spawn(fun Loop() -> receive {call, From, Q} -> From ! {From, Q * 2}, Loop();
                                     {late, From} -> receive after 30 -> From ! {From, late} end,
                                     Loop(); stop -> ok end end),
    Mref = monitor(process, Server, [{alias, reply_demonitor}]),
    Server ! {call, Mref, 21},
    io:format("~p~n", [receive {Mref, R} -> R end]),
    io:format("~p~n", [demonitor(Mref, [info])]),
    M2 = monitor(process, Server, [{alias, demonitor}]),
    Server ! {late, M2},
    demonitor(M2, [flush]),
    io:format("~p~n", [receive {M2, late} -> came after 80 -> dropped end]),
    M3 = monitor(process, Server, [{alias, explicit_unalias}]),
    Server ! stop,
    io:format("~p~n", [receive {'DOWN', M3, process, Server, Why} -> Why end]),
    io:format("~p~n", [unalias(M3)]),
    io:format("~p ~p~n", [erlang:yield(), erlang:garbage_collect()]),
    W = spawn(fun() -> receive stop -> ok end end),
    io:format("~p~n", [erlang:garbage_collect(W)]),
    exit(W, kill),
    Mw = monitor(process, W), receive {'DOWN', Mw, _, _, _} -> ok end,
    io:format("~p~n", [erlang:garbage_collect(W)]),
    erlang:bump_reductions(100000),
    io:format("~p~n", [try alias([bad]) catch C:E -> {C, E} end]),
    io:format("~p~n", [is_reference(alias([explicit_unalias]))]).

wake(To, Arg) ->
    receive M -> To ! {woke, {M, Arg}} end,
    erlang:hibernate(?MODULE, wake, [To, {second, element(2, Arg)}]).
