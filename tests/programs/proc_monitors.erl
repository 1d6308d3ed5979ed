%% Monitors: by pid and name, several at once, demonitor with flush and info, the reasons reported.
-module(proc_monitors).
-export([main/1]).

main(_) ->
    P = spawn(fun() -> receive stop -> exit(stopped) end end),
    Rs = [monitor(process, P) || _ <- lists:seq(1, 5)],
    true = demonitor(lists:nth(3, Rs)),
    P ! stop,
    io:format("~p~n", [[receive {'DOWN', R, process, P, Why} -> Why after 100 -> none end
                        || R <- Rs]]),
    R1 = monitor(process, P),
    io:format("~p~n", [receive {'DOWN', R1, process, P, Why1} -> Why1 end]),
    R2 = monitor(process, no_such_name),
    io:format("~p~n", [receive {'DOWN', R2, process, What2, Why2} -> {What2, Why2} end]),
    Named = spawn(fun() -> register(the_name, self()), receive go -> ok end, exit(named_done) end),
    wait_registered(the_name),
    R3 = monitor(process, the_name), R4 = monitor(process, {the_name, node()}),
    the_name ! go,
    io:format("~p~n", [[receive {'DOWN', R, process, What, Why3} -> {What, Why3} end
                        || R <- [R3, R4]]]),
    io:format("~p~n", [is_process_alive(Named)]),
    %% flush takes away a message that has already come
    Q = spawn(fun() -> ok end),
    R5 = monitor(process, Q),
    wait_dead(Q),
    io:format("~p~n", [demonitor(R5, [flush])]),
    io:format("~p~n", [receive {'DOWN', R5, _, _, _} -> here after 0 -> flushed end]),
    S = spawn(fun() -> receive never -> ok end end),
    R6 = monitor(process, S),
    io:format("~p ~p~n", [demonitor(R6, [info]), demonitor(R6, [info])]),
    R7 = monitor(process, S),
    io:format("~p~n", [demonitor(R7, [info, flush])]),
    exit(S, kill), wait_dead(S),
    io:format("~p~n", [receive {'DOWN', _, _, _, _} -> unexpected after 10 -> quiet end]),
    io:format("~p~n", [demonitor(make_ref())]),
    io:format("~p~n",
              [[try F() catch C:E -> {C, E} end || F <- [fun() -> monitor(process, 12) end,
                                                         fun() -> monitor(foo, self()) end,
                        fun() -> demonitor(a) end, fun() -> demonitor(make_ref(), [bad]) end]]]),
    {T, R8} = spawn_monitor(fun() -> receive X -> exit(X) end end),
    io:format("~p~n", [process_info(self(), monitors) =:= {monitors, [{process, T}]}]),
    io:format("~p~n", [process_info(T, monitored_by) =:= {monitored_by, [self()]}]),
    T ! {a, "deep", [reason]},
    io:format("~p~n", [receive {'DOWN', R8, process, T, Why8} -> Why8 end]),
    %% monitor with a tag of our own
    {U, R9} = spawn_opt(fun() -> exit(tagged) end, [{monitor, [{tag, my_tag}]}]),
    io:format("~p~n", [receive {my_tag, R9, process, U, Why9} -> Why9 end]),
    R10 = monitor(process, self()),
    io:format("~p~n", [demonitor(R10, [info])]),
    Many = [spawn_monitor(fun() -> exit(N) end) || N <- lists:seq(1, 500)],
    io:format("~p~n",
              [lists:sum([receive {'DOWN', R, process, Pid, N} -> N end || {Pid, R} <- Many])]),
    in_order().

%% Whoever sets several monitors is told in the order in which it set them, on whichever schedulers it was between them.
in_order() ->
    Online = erlang:system_info(schedulers_online),
    Q = spawn(fun() -> receive stop -> ok end end),
    Port = open_port({spawn, "cat"}, []),
    Rs = [begin
              process_flag(scheduler, I rem Online + 1),
              [make_ref() || _ <- lists:seq(1, I * 7)],
              {monitor(process, Q), monitor(port, Port)}
          end || I <- lists:seq(1, 30)],
    process_flag(scheduler, 0),
    Q ! stop,
    port_close(Port),
    [{Told, process}, {ToldOfPort, port}] =
        [{[receive {'DOWN', R, Type, _, _} -> R end || _ <- Rs], Type} || Type <- [process, port]],
    io:format("~p ~p~n", [Told =:= [R || {R, _} <- Rs], ToldOfPort =:= [R || {_, R} <- Rs]]).

wait_registered(Name) ->
    case whereis(Name) of undefined -> erlang:yield(), wait_registered(Name); _ -> ok end.
wait_dead(P) -> R = monitor(process, P), receive {'DOWN', R, _, _, _} -> ok end.
