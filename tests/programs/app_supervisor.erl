%% A supervisor by hand: one_for_one, one_for_all, limits on restarts, orderly shutdown.
-module(app_supervisor).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    register(main, self()),
    S = start(one_for_one, [a, b, c], 5),
    io:format("~p~n", [started(3)]),
    crash(b), io:format("~p~n", [started(1)]),
    crash(b), io:format("~p~n", [started(1)]),
    ask(a, normal), io:format("~p~n", [started(1)]),
    io:format("~p~n", [[ask(W, hello) || W <- [a, b, c]]]),
    stop(S),
    S2 = start(one_for_all, [x, y, z], 5),
    io:format("~p~n", [started(3)]),
    crash(y), io:format("~p~n", [started(3)]),
    stop(S2),
    io:format("~p~n", [[whereis(W) || W <- [a, b, c, x, y, z]]]),
    S3 = start(one_for_one, [w], 3),
    io:format("~p~n", [started(1)]),
    [begin crash(w), started(1) end || _ <- [1, 2, 3]],
    crash(w),
    io:format("~p~n", [receive {'EXIT', S3, Why} -> Why end]),
    io:format("~p~n", [flush()]).

start(Strategy, Names, Max) -> spawn_link(fun() -> process_flag(trap_exit, true),
                                              loop(Strategy, [{child(N), N} || N <- Names],
                                                   Max) end).

loop(Strategy, Children, Left) ->
    receive
        {'EXIT', Pid, Reason} ->
            case lists:keytake(Pid, 1, Children) of
                {value, {_, Name}, _} when Left =:= 0 ->
                    terminate(Children), exit({too_many_restarts, Name, Reason});
                {value, {_, Name}, Rest} when Strategy =:= one_for_one ->
                    loop(Strategy, [{child(Name), Name} | Rest], Left - 1);
                {value, _, Rest} -> terminate(Rest),
                    loop(Strategy, [{child(N), N} || N <- lists:sort([N || {_, N} <- Children])],
                         Left - 1);
                false -> terminate(Children), exit(Reason)
            end;
        {stop, From} -> terminate(Children), From ! {stopped, self()}
    end.

terminate(Children) -> [begin R = monitor(process, P), exit(P, shutdown),
                            receive {'DOWN', R, _, _, _} -> ok end,
                            receive {'EXIT', P, _} -> ok after 0 -> ok end end
                        || {P, _} <- Children].

child(Name) ->
    Sup = self(),
    P = spawn_link(fun() -> register(Name, self()), Sup ! {up, self()}, main ! {started, Name},
                       worker(Name) end),
    receive {up, P} -> P end.

worker(Name) ->
    receive
        crash -> exit(crashed);
        {ask, From, normal} -> From ! {Name, bye};
        {ask, From, M} -> From ! {Name, M}, worker(Name)
    end.

crash(Name) ->
    R = monitor(process, Name), Name ! crash, receive {'DOWN', R, _, _, crashed} -> ok end.
ask(Name, M) -> Name ! {ask, self(), M}, receive {Name, Reply} -> Reply end.
started(N) ->
    lists:sort([receive {started, W} -> W after 5000 -> missing end || _ <- lists:seq(1, N)]).
stop(S) ->
    S ! {stop, self()}, receive {stopped, S} -> ok end, receive {'EXIT', S, normal} -> ok end.
flush() -> receive M -> [M | flush()] after 0 -> [] end.
