%% process_info items that are the same everywhere, process_flag, group_leader, priorities.
-module(proc_info).
-export([main/1]).

main(_) ->
    Self = self(),
    P = spawn(fun() -> put(k, v), Self ! up, receive stop -> ok end end),
    receive up -> ok end,
    wait_waiting(P),
    P ! one, P ! {two, 2},
    wait_waiting(P),
    io:format("~p~n", [process_info(P, message_queue_len)]),
    io:format("~p~n", [process_info(P, messages)]),
    io:format("~p~n",
              [process_info(P, [trap_exit, priority, links, monitors, registered_name])]),
    io:format("~p~n", [process_info(P, [message_queue_len, dictionary])]),
    io:format("~p~n", [process_info(self(), status)]),
    {current_function, {M, F, A}} = process_info(self(), current_function),
    io:format("~p~n", [{M, F, A}]),
    [io:format("~p ~p~n",
               [K, begin {K, V} = process_info(self(), K), is_integer(V) andalso V > 0 end])
     || K <- [memory, heap_size, total_heap_size, stack_size, reductions]],
    {group_leader, G} = process_info(P, group_leader),
    io:format("~p~n", [G =:= group_leader()]),
    io:format("~p~n", [process_info(P, error_handler)]),
    io:format("~p~n", [process_flag(priority, high)]),
    io:format("~p~n", [process_info(self(), priority)]),
    io:format("~p~n", [process_flag(priority, normal)]),
    io:format("~p~n", [process_flag(trap_exit, true)]),
    io:format("~p~n", [process_info(self(), trap_exit)]),
    io:format("~p~n", [process_flag(min_heap_size, 500) > 0]),
    io:format("~p~n",
              [[try Fn() catch C:E -> {C, E} end
                || Fn <- [fun() -> process_flag(priority, silly) end,
                          fun() -> process_flag(foo, 1) end,
                        fun() -> process_info(P, nosuch) end,
                        fun() -> process_info(notpid, status) end,
                            fun() -> process_flag(trap_exit, 1) end]]]),
    R = monitor(process, P), P ! stop, receive {'DOWN', R, _, _, _} -> ok end,
    io:format("~p ~p ~p~n", [process_info(P), process_info(P, status), process_info(P, [status])]),
    %% a group leader is inherited and can be changed
    GL = spawn(fun() -> gl_loop() end),
    Q = spawn(fun() -> receive go -> ok end, Self ! {leader, group_leader()},
                  spawn(fun() -> Self ! {child_leader, group_leader()} end) end),
    true = group_leader(GL, Q),
    Q ! go,
    io:format("~p~n", [receive {leader, L} -> L =:= GL end]),
    io:format("~p~n", [receive {child_leader, L2} -> L2 =:= GL end]),
    %% what a process prints goes to its group leader
    Collector = spawn(fun() -> collect(Self, []) end),
    W = spawn(fun() -> receive go -> io:format("to the ~p~n", [leader]), Self ! printed end end),
    group_leader(Collector, W), W ! go,
    receive printed -> Collector ! {give, Self} end,
    receive {collected, Text} -> io:format("collected: ~s", [Text]) end,
    [spawn_opt(fun() -> Self ! {prio, Pr} end, [{priority, Pr}]) || Pr <- [low, normal, high]],
    io:format("~p~n", [lists:sort([receive {prio, X} -> X end || _ <- [1, 2, 3]])]).

wait_waiting(P) ->
    case process_info(P, status) of
        {status, waiting} -> ok;
        _ -> erlang:yield(), wait_waiting(P)
    end.
gl_loop() -> receive stop -> ok end.

collect(Main, Acc) ->
    receive
        {io_request, From, As, {put_chars, unicode, Mod, Fn, Args}} ->
            From ! {io_reply, As, ok},
            collect(Main, [Acc, unicode:characters_to_list(apply(Mod, Fn, Args))]);
        {io_request, From, As, {put_chars, unicode, Chars}} ->
            From ! {io_reply, As, ok}, collect(Main, [Acc, unicode:characters_to_list(Chars)]);
        {give, To} -> To ! {collected, lists:flatten(Acc)}
    end.
