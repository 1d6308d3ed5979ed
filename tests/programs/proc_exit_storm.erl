%% Thousands of linked and monitored processes that die in every order; nothing is lost or doubled.
-module(proc_exit_storm).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    Ps = [spawn_link(fun() -> receive R -> exit(R) end end) || _ <- lists:seq(1, 3000)],
    Ms = [{P, monitor(process, P), monitor(process, P)} || P <- Ps],
    [P ! {reason, I} || {I, P} <- lists:zip(lists:seq(1, 3000), Ps)],
    Reasons = [receive {'DOWN', A, process, P, R} -> receive {'DOWN', B, process, P, R} ->
                                                         receive {'EXIT', P, R} ->
                                                             element(2, R) end end end
               || {P, A, B} <- Ms],
    io:format("~p~n", [Reasons =:= lists:seq(1, 3000)]),
    io:format("~p~n", [none_left()]),
    %% a star: the centre dies, all the others follow
    {Centre, CR} = spawn_monitor(fun() -> receive start -> ok end,
                                     [spawn_link(fun() -> receive after infinity -> ok end end)
                                      || _ <- lists:seq(1, 1000)],
                                     receive die -> exit(centre) end end),
    Centre ! start, Centre ! die,
    io:format("~p~n", [receive {'DOWN', CR, _, _, Why} -> Why end]),
    %% processes that kill each other in pairs
    Pairs = [begin
                 A = spawn(fun() -> receive {peer, Q} -> exit(Q, kill), exit(first) end end),
                 B = spawn(fun() -> receive {peer, Q} -> exit(Q, kill), exit(second) end end),
                 Ra = monitor(process, A), Rb = monitor(process, B),
                 A ! {peer, B}, B ! {peer, A},
                 X = receive {'DOWN', Ra, _, _, Wa} -> Wa end,
                 Y = receive {'DOWN', Rb, _, _, Wb} -> Wb end,
                 lists:member({X, Y}, [{first, killed}, {killed, second}, {first, second},
                                       {killed, killed}])
             end || _ <- lists:seq(1, 300)],
    io:format("~p~n", [lists:usort(Pairs)]),
    %% monitors set on processes that are just ending: always one answer each
    Ends = [begin P = spawn(fun() -> ok end), R = monitor(process, P),
                receive {'DOWN', R, process, P, W} -> lists:member(W, [normal, noproc]) end end
            || _ <- lists:seq(1, 3000)],
    io:format("~p~n", [lists:usort(Ends)]),
    Links = [begin P = spawn_link(fun() -> ok end), receive {'EXIT', P, normal} -> ok end end
             || _ <- lists:seq(1, 3000)],
    io:format("~p~n", [length(Links)]),
    io:format("~p~n", [none_left()]),
    io:format("~p~n", [process_info(self(), [links, monitors])]).

none_left() -> receive M -> {left, element(1, M)} after 50 -> none_left end.
