%% spawn in all forms, message passing, ordering of messages from one sender, self-sends.
-module(proc_basics).
-export([main/1, worker/2, id/1]).

main(_) ->
    Self = self(),
    spawn(?MODULE, worker, [Self, mfa]),
    spawn(fun() -> worker(Self, 'fun') end),
    spawn_link(?MODULE, worker, [Self, link]),
    {P1, R1} = spawn_monitor(?MODULE, worker, [Self, monitor]),
    {P2, R2} = spawn_opt(?MODULE, worker, [Self, opt], [monitor, {priority, high},
                                                        {min_heap_size, 1000},
                                                        {fullsweep_after, 5}]),
    P3 = spawn_opt(fun() -> worker(Self, opt_fun) end, [link, {max_heap_size, 1000000},
                                                        {message_queue_data, off_heap}]),
    io:format("~p~n", [lists:sort([receive {done, X} -> X end || _ <- lists:seq(1, 6)])]),
    io:format("~p~n", [[receive {'DOWN', R, process, P, Reason} -> Reason end
                        || {P, R} <- [{P1, R1}, {P2, R2}]]]),
    true = is_pid(P3),
    %% order of signals between two processes
    spawn(fun() -> [Self ! {n, N} || N <- lists:seq(1, 10000)] end),
    io:format("~p~n", [ordered(1, 10000)]),
    Self ! a, Self ! b, self() ! c,
    io:format("~p~n", [[receive X -> X end || _ <- [1, 2, 3]]]),
    io:format("~p~n", [Self ! {returns, [its, message]}]),
    receive {returns, L} -> io:format("~p~n", [L]) end,
    Echo = spawn(fun Loop() -> receive {From, M} -> From ! {self(), M}, Loop(); stop -> ok end end),
    Ms = [1, a, "string", <<"binary">>, {t, [1, {2}]}, #{k => v}, 1.5, 1 bsl 100, fun lists:map/2,
          make_ref(), self(), lists:seq(1, 1000)],
    io:format("~p~n", [[begin Echo ! {Self, M}, receive {Echo, Back} -> Back =:= M end end
                        || M <- Ms]]),
    Echo ! stop,
    io:format("~p~n", [try_(fun() -> spawn(id(a), b) end)]),
    io:format("~p~n", [try_(fun() -> spawn(id(a), b, id(c)) end)]),
    io:format("~p~n", [try_(fun() -> spawn_opt(fun() -> ok end, id([bad_option])) end)]),
    io:format("~p~n", [try_(fun() -> spawn_opt(fun() -> ok end, id(nolist)) end)]),
    io:format("~p~n", [is_process_alive(self())]),
    Dead = spawn(fun() -> ok end),
    wait_dead(Dead),
    io:format("~p ~p~n", [is_process_alive(Dead), Dead ! lost]),
    io:format("~p~n", [[is_pid(self()), is_reference(make_ref()), make_ref() =:= make_ref(), node(),
                        node(self())]]),
    io:format("~p~n",
              [lists:sum([receive {part, N} -> N end
                          || _ <- [spawn(fun() -> Self ! {part, lists:sum(lists:seq(1, K))} end)
                                   || K <- lists:seq(1, 200)]])]).

worker(To, Tag) -> To ! {done, Tag}.

ordered(N, Max) when N > Max -> in_order;
ordered(N, Max) -> receive {n, N} -> ordered(N + 1, Max); {n, M} -> {out_of_order, N, M} end.

wait_dead(P) ->
    R = monitor(process, P),
    receive {'DOWN', R, _, _, _} -> ok end.

try_(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
