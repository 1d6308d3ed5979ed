%% Events of the system are told by session from OTP 28 on: trace:system/3, which is this of erts_internal.
-module(system_monitors).
-export([main/1, start/0]).

start() -> main([]).

main(_) ->
    S = trace:session_create(a, self(), []),
    S2 = trace:session_create(b, self(), []),
    Changes = [{large_heap, 20000}, {long_gc, 0}, {busy_port, true}, {busy_port, 1}, {foo, 1}, {long_message_queue, {1, 5}},
               {long_message_queue, {5, 1}}, {long_schedule, false}, {large_heap, x}],
    io:format("~p~n", [[told(fun() -> set(S, Event, Value) end) || {Event, Value} <- Changes]]),
    io:format("~p~n", [[settings(S), settings(S2), told(fun() -> erts_internal:trace_info(S, system, foo) end),
                        erlang:system_monitor(), told(fun() -> erts_internal:system_monitor(S, self(), [busy_port]) end)]]),
    [ok = set(S, Event, false) || Event <- [long_gc, busy_port, long_message_queue]],
    ok = set(S2, large_heap, 1),
    io:format("~p~n", [[settings(S), settings(S2)]]),
    P = spawn(fun() -> L = lists:seq(1, 30000), garbage_collect(), receive stop -> length(L) end end),
    timer:sleep(200),
    P ! stop,
    io:format("~p~n", [lists:usort([{Tag, is_list(Info)} || {monitor, Q, Tag, Info} <- messages(), Q =:= P])]),
    %% Beside that of erlang:system_monitor().
    undefined = erlang:system_monitor(self(), [{long_message_queue, {2, 4}}]),
    io:format("~p~n", [element(2, erlang:system_monitor())]),
    [ok = set(Of, large_heap, false) || Of <- [S, S2]],
    Q = spawn(fun() -> receive go -> ok end, empty(), receive stop -> ok end end),
    [Q ! N || N <- lists:seq(1, 10)],
    timer:sleep(100),
    Q ! go,
    timer:sleep(100),
    Q ! stop,
    io:format("~p~n", [[{Tag, Info} || {monitor, Of, Tag, Info} <- messages(), Of =:= Q]]),
    %% A session that has ended, and one without its tracer.
    ok = set(S, large_heap, 20000),
    true = trace:session_destroy(S),
    T = spawn(fun() -> receive x -> ok end end),
    S3 = trace:session_create(c, T, []),
    ok = set(S3, large_heap, 20000),
    exit(T, kill),
    timer:sleep(50),
    io:format("~p~n", [[told(fun() -> set(S, large_heap, 1) end),
                        element(2, erlang:system_monitor(undefined)), erts_internal:system_monitor(legacy)]]).

set(Session, Event, Value) -> erts_internal:system_monitor(Session, session, [{Event, Value}]).

settings(Session) -> erts_internal:trace_info(Session, system, all).

told(F) -> try F() catch Class:Reason -> {Class, Reason} end.

empty() -> receive _ -> empty() after 0 -> ok end.

messages() -> receive M -> [M | messages()] after 0 -> [] end.
