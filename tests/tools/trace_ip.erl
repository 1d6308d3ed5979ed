%% dbg over the network: what trace_ip_drv sends, one client at a time, with a queue of three. Not run on erl: OTP 25's driver
%% clears too little of its queue and faults now and then; what it prints otherwise is in sockets_test.py.
-module(trace_ip).
-export([main/0, f/1]).
f(X) -> X.

main() ->
    F = dbg:trace_port(ip, {0, 3}),
    {ok, _} = dbg:tracer(port, F),
    {ok, PortNo} = dbg:trace_port_control(get_listen_port),
    io:format("~p ~p~n", [is_integer(PortNo), PortNo > 0]),
    dbg:p(self(), [c]), dbg:tp(?MODULE, f, 1, []),
    [?MODULE:f(N) || N <- lists:seq(1, 10)],
    {ok, S} = gen_tcp:connect("localhost", PortNo, [binary, {active, false}]),
    timer:sleep(200),
    read(S, 4),
    {ok, S2} = gen_tcp:connect("localhost", PortNo, [binary, {active, false}]),
    io:format("second ~p~n", [gen_tcp:recv(S2, 0, 1000)]),
    [?MODULE:f(N) || N <- lists:seq(20, 22)],
    read(S, 3),
    gen_tcp:close(S), timer:sleep(200),
    ?MODULE:f(30),
    {ok, S3} = gen_tcp:connect("localhost", PortNo, [binary, {active, false}]),
    read(S3, 1),
    io:format("~p~n", [open_bad(["trace_ip_drv", "trace_ip_drv x", "trace_ip_drv 0 1", "trace_ip_drv 0 1 7", "trace_ip_drv 0 -1 2",
                                 "trace_ip_drv " ++ integer_to_list(PortNo) ++ " 1 2"])]),
    Self = self(),
    Reads = {fun(M, _) -> Self ! {got, M} end, ok},
    Client = spawn(fun() -> Self ! {client, dbg:trace_client(ip, {"localhost", PortNo}, Reads)}, timer:sleep(2000) end),
    gen_tcp:close(S3),
    receive {client, _} -> ok end,
    timer:sleep(300),
    ?MODULE:f(40),
    receive {got, M} -> io:format("~p~n", [setelement(2, M, pid)]) after 2000 -> io:format("nothing~n") end,
    exit(Client, kill),
    dbg:ctp(), dbg:stop(),
    timer:sleep(100),
    io:format("~p~n", [gen_tcp:connect("localhost", PortNo, [])]).

open_bad(Commands) -> [opened(C) || C <- Commands].

opened(C) -> try open_port({spawn_driver, C}, []) of P -> port_close(P), opened catch E:R -> {E, R} end.

read(_, 0) -> ok;
read(S, N) ->
    case gen_tcp:recv(S, 5, 1000) of
        {ok, <<0, Size:32>>} -> {ok, B} = gen_tcp:recv(S, Size, 1000), io:format("~p~n", [setelement(2, binary_to_term(B), pid)]);
        {ok, <<1, Count:32>>} -> io:format("left out: ~p~n", [Count]);
        Other -> io:format("~p~n", [Other])
    end,
    read(S, N - 1).
