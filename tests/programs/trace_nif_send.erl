%% What a native function sent was not traced.
-module(trace_nif_send).
-export([main/1, send/2, send_env/2, send_dirty/2]).

send(_, _) -> erlang:nif_error(not_loaded).
send_env(_, _) -> erlang:nif_error(not_loaded).
send_dirty(_, _) -> erlang:nif_error(not_loaded).

main(_) ->
    ok = erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "trace_nif_send"), 0),
    {Gone, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, process, Gone, _} -> ok end,
    Sink = spawn(fun() -> receive stop -> ok end end),
    show(Sink, Gone),
    erlang:trace_pattern(send, [{[Sink, {'$1', x}], [], [{message, '$1'}]}], []),
    show(Sink, Gone),
    Sink ! stop.

show(Sink, Gone) ->
    Own = self(),
    P = spawn(fun() -> receive go -> ok end,
                       Results = [F(To, {N, x}) || {N, F} <- [{1, fun send/2}, {2, fun send_env/2}, {3, fun send_dirty/2}],
                                                   To <- [Sink, Gone]],
                       Own ! {done, Results} end),
    1 = erlang:trace(P, true, [send]),
    P ! go,
    receive {done, Results} -> io:format("~p~n", [Results]) end,
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    io:format("~p~n", [events(Sink)]).

events(Sink) ->
    receive
        T when element(1, T) =:= trace ->
            [[if E =:= Sink -> sink; is_pid(E) -> pid; true -> E end || E <- tl(tuple_to_list(T))] | events(Sink)]
    after 0 -> []
    end.
