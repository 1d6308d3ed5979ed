%% register, whereis, registered, unregister; names die with their process; sends to names.
-module(proc_registry).
-export([main/1]).

main(_) ->
    register(me, self()),
    io:format("~p~n", [whereis(me) =:= self()]),
    me ! one, {me, node()} ! two,
    io:format("~p~n", [[receive X -> X end || _ <- [1, 2]]]),
    io:format("~p~n",
              [[error_of(F) || F <- [fun() -> register(me, self()) end,
                                     fun() -> register(me2, self()) end,
                                     fun() -> unregister(nobody) end,
                        fun() -> nobody ! x end, fun() -> register("a", self()) end,
                        fun() -> register(undefined, spawn(fun() -> ok end)) end,
                        fun() -> whereis(1) end]]]),
    io:format("~p~n", [erlang:send(me, three)]),
    io:format("~p~n", [receive three -> got end]),
    io:format("~p~n", [unregister(me)]),
    io:format("~p~n", [whereis(me)]),
    P = spawn(fun() -> receive stop -> ok end end),
    register(worker, P),
    io:format("~p~n", [process_info(P, registered_name)]),
    io:format("~p~n", [process_info(self(), registered_name)]),
    io:format("~p~n", [lists:member(worker, registered())]),
    R = monitor(process, P),
    worker ! stop,
    receive {'DOWN', R, _, _, _} -> ok end,
    io:format("~p~n", [whereis(worker)]),
    names_go_in_any_order(),
    register(worker, self()),
    io:format("~p~n", [whereis(worker) =:= self()]),
    register(other, spawn(fun() -> receive {From, M} -> From ! {other, M} end end)),
    other ! {self(), hello},
    io:format("~p~n", [receive {other, M} -> M end]),
    io:format("~p~n", [error_of(fun() -> register(gone, P) end)]),
    Names = [list_to_atom("proc_" ++ integer_to_list(I)) || I <- lists:seq(1, 200)],
    Self = self(),
    [register(N, spawn(fun() -> receive V -> Self ! {N, V} end end)) || N <- Names],
    [N ! {value, N} || N <- Names],
    io:format("~p~n", [length([ok || N <- Names, ok =:= receive {N, {value, N}} -> ok end])]).

error_of(F) -> try F() catch C:R -> {C, R} end.

names_go_in_any_order() ->
    Before = lists:sort(registered()),
    Names = [list_to_atom("name_" ++ integer_to_list(N)) || N <- lists:seq(1, 9)],
    Pids = [begin
                P = spawn(fun() -> receive stop -> ok end end),
                register(Name, P),
                P
            end || Name <- Names],
    [begin
         unregister(Name),
         io:format("~p~n", [lists:sort(registered()) -- Before])
     end || Name <- [name_9, name_1, name_4, name_8, name_2, name_7, name_3, name_5]],
    register(name_1, hd(Pids)),
    unregister(name_6),
    unregister(name_1),
    [P ! stop || P <- Pids],
    io:format("~p~n", [lists:sort(registered()) =:= Before]).
