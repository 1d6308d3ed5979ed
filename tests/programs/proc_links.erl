%% Links: exits travel along chains, trap_exit stops them, unlink, links to the dead, normal exits.
-module(proc_links).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    io:format("~p~n", [chain(100, boom)]),
    io:format("~p~n", [chain(5, kill)]),
    io:format("~p~n", [trap_in_the_middle()]),
    io:format("~p~n", [unlinked()]),
    io:format("~p~n", [normal_does_not_kill()]),
    io:format("~p~n", [link_dead()]),
    io:format("~p~n", [link_twice()]),
    io:format("~p~n", [group(20)]),
    io:format("~p~n", [unlink_flushes()]),
    io:format("~p~n", [process_info(self(), links)]),
    P = spawn_link(fun() -> receive stop -> ok end end),
    io:format("~p~n", [process_info(self(), links) =:= {links, [P]}]),
    P ! stop,
    receive {'EXIT', P, R} -> io:format("~p~n", [R]) end,
    link(self()),
    io:format("~p ~p~n", [process_flag(trap_exit, false), process_flag(trap_exit, false)]).

%% A chain of linked processes; the last one dies; the reason comes up to here unchanged.
chain(N, Reason) ->
    P = spawn_link(fun() -> next(N, Reason) end),
    receive {'EXIT', P, R} -> R end.
next(0, kill) -> exit(self(), kill), receive after infinity -> ok end;
next(0, Reason) -> exit(Reason);
next(N, Reason) -> spawn_link(fun() -> next(N - 1, Reason) end), receive after infinity -> ok end.

trap_in_the_middle() ->
    Self = self(),
    P = spawn_link(fun() ->
                           process_flag(trap_exit, true),
                           Q = spawn_link(fun() -> exit(inner) end),
                           receive {'EXIT', Q, R} -> Self ! {middle_saw, R} end
                   end),
    A = receive {middle_saw, R} -> R end,
    receive {'EXIT', P, B} -> {A, B} end.

unlinked() ->
    P = spawn_link(fun() -> receive die -> exit(died) end end),
    Ref = monitor(process, P),
    unlink(P), P ! die,
    receive {'DOWN', Ref, process, P, died} -> ok end,
    receive {'EXIT', P, R} -> {still, R} after 0 -> no_exit end.

normal_does_not_kill() ->
    Self = self(),
    P = spawn(fun() ->
                      Q = spawn_link(fun() -> ok end), R = monitor(process, Q),
                      receive {'DOWN', R, process, Q, _} -> ok end,
                      Self ! {alive, self()}, receive go -> Self ! {still, self()} end
              end),
    receive {alive, P} -> P ! go end,
    receive {still, P} -> still_alive end.

link_dead() ->
    {P, R} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', R, _, _, _} -> ok end,
    link(P),
    receive {'EXIT', P, Why} -> Why end.

link_twice() ->
    P = spawn_link(fun() -> receive X -> exit(X) end end),
    link(P), link(P), P ! bye,
    receive {'EXIT', P, R} -> ok end,
    receive {'EXIT', P, _} -> twice after 20 -> {once, R} end.

%% One death takes a whole group along.
group(N) ->
    {Leader, Ref} = spawn_monitor(fun() ->
        Members = [spawn_link(fun() -> receive after infinity -> ok end end)
                   || _ <- lists:seq(1, N)],
        receive {members, To} -> To ! {members, Members} end,
        receive fail -> exit(group_fails) end
    end),
    Leader ! {members, self()},
    Members = receive {members, M} -> M end,
    Refs = [monitor(process, P) || P <- Members],
    Leader ! fail,
    L = receive {'DOWN', Ref, _, _, R} -> R end,
    {L, lists:usort([receive {'DOWN', Rf, _, _, R1} -> R1 end || Rf <- Refs])}.

unlink_flushes() ->
    P = spawn_link(fun() -> exit(early) end),
    R = monitor(process, P),
    receive {'DOWN', R, _, _, _} -> ok end,
    %% The exit message is a signal of its own and may come a little later.
    receive after 50 -> ok end,
    unlink(P),
    receive {'EXIT', P, X} -> {in_mailbox, X} after 0 -> nothing end.
