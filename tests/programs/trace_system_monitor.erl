%% erlang:system_monitor: what is set, and who is told of large heaps, long slices and busy ports.
-module(trace_system_monitor).
-export([main/1]).

main(_) ->
    p(erlang:system_monitor()),
    Dead = spawn(fun() -> ok end), wait_for(Dead),
    [p(try F() catch C:E -> {C, E} end) || F <- [
        fun() -> erlang:system_monitor(nonsense) end,
        fun() -> erlang:system_monitor({self(), nonsense}) end,
        fun() -> erlang:system_monitor(self(), [nonsense]) end,
        fun() -> erlang:system_monitor(self(), [{long_gc, nonsense}]) end,
        fun() -> erlang:system_monitor(self(), [{long_gc, -1}]) end,
        fun() -> erlang:system_monitor(self(), [{large_heap, a} | b]) end,
        fun() -> erlang:system_monitor(Dead, [{large_heap, 20000}]) end,
        fun() -> erlang:system_monitor(self(), [busy_port | nonsense]) end,
        fun() -> erlang:system_monitor(undefined, [busy_port]) end,
        fun() -> erlang:system_monitor(self(), []) end]],
    p(erlang:system_monitor(self(), [{long_gc, 0}, {large_heap, 1}])),
    p(erlang:system_monitor()),
    p(erlang:system_monitor(self(), [busy_port, {long_schedule, 30}, busy_dist_port])),
    p(erlang:system_monitor(undefined)),
    p(erlang:system_monitor()),
    %% An owner that ends takes its settings with it.
    Owner = spawn(fun() -> erlang:system_monitor(self(), [busy_port]) end),
    wait_for(Owner), timer:sleep(10),
    p(erlang:system_monitor()),
    large_heap(),
    busy_port(),
    erlang:system_monitor(undefined),
    p(erlang:system_monitor()).

large_heap() ->
    Limit = 200000,
    erlang:system_monitor(self(), [{large_heap, Limit}]),
    P = spawn(fun() -> L = lists:seq(1, 300000), garbage_collect(), exit({len, length(L)}) end),
    wait_for(P),
    receive
        {monitor, P, large_heap, Info} ->
            io:format("large heap ~p ~p~n",
                      [lists:sort([K || {K, _} <- Info]),
                       proplists:get_value(heap_block_size, Info) +
                           proplists:get_value(old_heap_block_size, Info) >= Limit])
    after 5000 -> io:format("no large heap~n") end,
    Q = spawn(fun() -> garbage_collect() end), wait_for(Q),
    receive {monitor, Q, large_heap, _} -> io:format("a small heap~n") after 0 -> ok end,
    erlang:system_monitor(undefined), flush().

busy_port() ->
    erlang:system_monitor(self(), [busy_port]),
    Port = open_port({spawn, "sleep 2"}, [binary]),
    Me = self(),
    P = spawn(fun() -> [port_command(Port, binary:copy(<<"x">>, 100000)) || _ <- lists:seq(1, 3)],
                       Me ! not_suspended end),
    receive
        {monitor, P, busy_port, Port} -> io:format("busy port~n")
    after 1500 -> io:format("no busy port~n") end,
    exit(P, kill),
    port_close(Port), erlang:system_monitor(undefined), flush().

wait_for(P) -> R = monitor(process, P), receive {'DOWN', R, _, _, _} -> ok end.
flush() -> receive _ -> flush() after 0 -> ok end.

p(X) -> io:format("~p~n", [mask(X)]).
mask(X) when X =:= self() -> main;
mask(X) when is_tuple(X) -> list_to_tuple([mask(E) || E <- tuple_to_list(X)]);
mask(X) -> X.
