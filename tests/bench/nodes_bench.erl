%% What a connection between two nodes carries, both on this machine.
%%
%%   erlc -o /tmp tests/bench/nodes_bench.erl
%%   ERL -pa /tmp -noshell -sname server -s nodes_bench serve &
%%   ERL -pa /tmp -noshell -sname client -s nodes_bench run
%%
%% with `erl` and `minivm erl` in turn for ERL, on either side. Each line is a rate a second, the median of five.
-module(nodes_bench).
-export([serve/0, run/0, echo/0, sink/1, nothing/0]).

serve() ->
    register(echo, spawn(fun echo/0)),
    register(sink, spawn(fun() -> sink(0) end)),
    receive stop -> halt() end.

echo() -> receive {From, Message} -> From ! Message, echo() end.
sink(N) -> receive {count, From} -> From ! {counted, N}, sink(0); _ -> sink(N + 1) end.
nothing() -> ok.

run() ->
    [_, Host] = string:split(atom_to_list(node()), "@"),
    Node = list_to_atom("server@" ++ Host),
    pong = net_adm:ping(Node),
    Echo = rpc:call(Node, erlang, whereis, [echo]),
    Sink = rpc:call(Node, erlang, whereis, [sink]),
    KB = binary:copy(<<1>>, 1024),
    MB = binary:copy(<<1>>, 1024 * 1024),
    tell("round trips, small", 3000, fun(N) -> trips(Echo, small, N) end),
    tell("round trips, 1 KB", 3000, fun(N) -> trips(Echo, KB, N) end),
    tell("round trips, 1 MB", 100, fun(N) -> trips(Echo, MB, N) end),
    tell("round trips of 50 processes", 20000, fun(N) -> many(50, fun() -> trips(Echo, small, N div 50) end) end),
    tell("messages, small", 100000, fun(N) -> flood(Sink, {self(), small}, N) end),
    tell("messages, 1 KB", 50000, fun(N) -> flood(Sink, KB, N) end),
    tell("erpc calls", 2000, fun(N) -> times(N, fun() -> erpc:call(Node, nodes_bench, nothing, []) end) end),
    tell("spawn and monitor", 2000,
         fun(N) -> times(N, fun() -> {_, R} = spawn_monitor(Node, nodes_bench, nothing, []), receive {'DOWN', R, _, _, _} -> ok end end) end),
    tell("monitors set and taken back", 20000, fun(N) -> times(N, fun() -> demonitor(monitor(process, Echo), [flush]) end), trips(Echo, x, 1) end),
    rpc:cast(Node, erlang, halt, []),
    timer:sleep(100),
    halt().

trips(_, _, 0) -> ok;
trips(Echo, Message, N) -> Echo ! {self(), Message}, receive Message -> trips(Echo, Message, N - 1) end.

flood(Sink, Message, N) ->
    times(N, fun() -> Sink ! Message end),
    Sink ! {count, self()},
    receive {counted, N} -> ok end.

many(Processes, Work) ->
    Refs = [element(2, spawn_monitor(Work)) || _ <- lists:seq(1, Processes)],
    [receive {'DOWN', R, _, _, normal} -> ok end || R <- Refs].

times(0, _) -> ok;
times(N, Work) -> Work(), times(N - 1, Work).

tell(What, N, Work) ->
    Work(N div 10),
    Rates = lists:sort([begin {Us, _} = timer:tc(fun() -> Work(N) end), N * 1000000 div max(Us, 1) end || _ <- lists:seq(1, 5)]),
    io:format("~-32s ~8w~n", [What, lists:nth(3, Rates)]).
