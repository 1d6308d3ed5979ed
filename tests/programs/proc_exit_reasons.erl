%% The reason a monitor and a link see for every way a process can end.
-module(proc_exit_reasons).
-export([main/1, id/1]).

main(_) ->
    process_flag(trap_exit, true),
    Ends = [{returns, fun() -> value end}, {exit_normal, fun() -> exit(normal) end},
            {exit_reason, fun() -> exit({my, reason}) end},
            {error, fun() -> error(oops) end}, {throw, fun() -> throw(ball) end},
            {badmatch, fun() -> ok = id(no) end},
            {badarith, fun() -> 1 / id(0) end},
            {function_clause, fun() -> (fun(x) -> 1 end)(id(y)) end},
                {undef, fun() -> nomod:nofun(1) end},
            {kill_self, fun() -> exit(self(), kill) end},
            {exit_self, fun() -> exit(self(), stop), receive after infinity -> ok end end},
            {exit_self_normal, fun() -> exit(self(), normal),
                                   receive after 50 -> exit(survived) end end},
            {exit_shutdown, fun() -> exit(shutdown) end}, {exit_kill_atom, fun() -> exit(kill) end},
            {caught, fun() -> catch error(x), ok end},
            {noproc_link, fun() -> link(dead_pid()), receive after infinity -> ok end end},
            {spawn_undef, spawn_undef}],
    [io:format("~p: ~p~n", [Name, no_pids(ended(F))]) || {Name, F} <- Ends],
    Victim = fun() -> tell_ready(), receive after infinity -> ok end end,
    [io:format("~p -> ~p~n", [R, killed(Victim, R)]) || R <- [kill, shutdown, {a, b}, killed]],
    Trapper = fun() -> process_flag(trap_exit, true), tell_ready(),
                  receive {'EXIT', _, R} -> exit({trapped, R}) end end,
    [io:format("trap ~p -> ~p~n", [R, killed(Trapper, R)])
     || R <- [kill, shutdown, normal, {a, b}]],
    io:format("~p~n", [try exit(id(notpid), x) catch C:E -> {C, E} end]),
    io:format("~p~n", [exit(dead_pid(), x)]).

tell_ready() -> get(parent) ! ready.

ended(spawn_undef) ->
    {_, R} = spawn_monitor(no_such_module_at_all, start, [1]),
    receive {'DOWN', R, process, _, Why} -> clean(Why) end;
ended(F) ->
    {P, R} = spawn_opt(F, [link, monitor]),
    Down = receive {'DOWN', R, process, P, Why} -> clean(Why) end,
    Exit = receive {'EXIT', P, Why2} -> clean(Why2) end,
    {Down, Exit =:= Down}.

killed(F, Reason) ->
    Self = self(),
    {P, R} = spawn_opt(fun() -> put(parent, Self), F() end, [link, monitor]),
    receive ready -> ok end,
    exit(P, Reason),
    Down = receive {'DOWN', R, process, P, Why} -> Why end,
    receive {'EXIT', P, Down} -> ok end,
    Down.

clean({Reason, [{M, F, A, _} | _]}) when is_list(A) -> {Reason, {M, F, A}};
clean({Reason, [{_, F, A, _} | _]}) -> {Reason, {F, A}};
clean(Reason) -> Reason.

dead_pid() ->
    {P, R} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', R, _, _, _} -> P end.
id(X) -> X.

no_pids({{noproc, {M, F, [Pid]}}, Flag}) when is_pid(Pid) -> {{noproc, {M, F, [pid]}}, Flag};
no_pids(Other) -> Other.
