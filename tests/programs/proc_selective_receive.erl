%% Selective receive: order of the queue, priorities by pattern, deep queues, markers with
%% references.
-module(proc_selective_receive).
-export([main/1]).

main(_) ->
    [self() ! {N, N rem 3} || N <- lists:seq(1, 12)],
    io:format("~p~n", [[receive {X, 2} -> X end || _ <- lists:seq(1, 4)]]),
    io:format("~p~n", [[receive {X, 0} -> X end || _ <- lists:seq(1, 4)]]),
    io:format("~p~n", [[receive X -> X end || _ <- lists:seq(1, 4)]]),
    [self() ! M || M <- [low1, {high, 1}, low2, {high, 2}, low3]],
    io:format("~p~n", [prioritized()]),
    %% guards choose
    [self() ! N || N <- [5, 50, 500, a, 7]],
    io:format("~p~n", [[receive N when is_integer(N), N > 20 -> N end,
                        receive N2 when is_atom(N2) -> N2 end, flush()]]),
    %% a deep queue of messages nobody wants yet
    [self() ! {junk, N} || N <- lists:seq(1, 20000)],
    self() ! wanted,
    io:format("~p~n", [receive wanted -> got end]),
    io:format("~p~n", [process_info(self(), message_queue_len)]),
    Server = spawn_link(fun server/0),
    io:format("~p~n", [lists:sum([call(Server, N) || N <- lists:seq(1, 2000)])]),
    io:format("~p~n", [lists:sum([call_monitored(Server, N) || N <- lists:seq(1, 2000)])]),
    io:format("~p~n", [length([x || {junk, _} <- flush()])]),
    Server ! stop,
    %% a reply can come before the receive with its marker
    Ref = make_ref(),
    self() ! other, self() ! {Ref, early},
    io:format("~p~n", [receive {Ref, What} -> What end]),
    io:format("~p~n", [flush()]),
    Pinned = 7,
    [self() ! {K, v} || K <- [1, 7, 9]],
    io:format("~p ~p~n", [receive {Pinned, V} -> V end, flush()]),
    %% nested receives keep the outer order
    [self() ! M || M <- [a, b, c, d]],
    io:format("~p~n", [receive c -> receive a -> {nested, flush()} end end]),
    io:format("~p~n", [one_of([z, y, x])]).

prioritized() ->
    receive {high, N} -> [{high, N} | prioritized()]
    after 0 -> receive X -> [X | prioritized()] after 0 -> [] end
    end.

server() ->
    receive
        {call, From, Ref, N} -> From ! {Ref, N * 2}, server();
        stop -> ok
    end.

call(S, N) -> Ref = make_ref(), S ! {call, self(), Ref, N}, receive {Ref, R} -> R end.

call_monitored(S, N) ->
    Ref = monitor(process, S), S ! {call, self(), Ref, N},
    receive {Ref, R} -> demonitor(Ref, [flush]), R;
            {'DOWN', Ref, _, _, Why} -> exit(Why)
    end.

one_of(Ms) ->
    [self() ! M || M <- Ms],
    A = receive x -> 1; y -> 2; z -> 3 end,
    {A, flush()}.

flush() -> receive X -> [X | flush()] after 0 -> [] end.
