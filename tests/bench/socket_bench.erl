%% Requests and their answers, connections, and a stream, over TCP of this machine; clients and server in one VM.
%%
%%     erlc tests/bench/socket_bench.erl
%%     erl -noshell -s socket_bench main -s init stop
%%     minivm erl -noshell -s socket_bench main -s init stop
-module(socket_bench).
-export([main/0]).

-define(REQUEST, <<"GET / HTTP/1.1\r\nHost: x\r\n\r\n">>).
-define(LISTEN, [binary, {active, false}, {nodelay, true}, {backlog, 1024}, {ip, loopback}]).

%% The second of two rounds is shown.
main() ->
    _ = round_of_all(),
    [io:format("~s ~w ~s~n", Line) || Line <- round_of_all()].

round_of_all() ->
    [["passive 1", requests(fun passive/1, 1, 20000), "requests/s"],
     ["passive 50", requests(fun passive/1, 50, 1000), "requests/s"],
     ["once 1", requests(fun once/1, 1, 20000), "requests/s"],
     ["once 50", requests(fun once/1, 50, 1000), "requests/s"],
     ["connections", connections(3000), "connections/s"],
     ["stream", stream(2000, binary:copy(<<"x">>, 100000)), "MB/s"],
     ["socket 1", natives(1, 20000), "requests/s"],
     ["socket 50", natives(50, 1000), "requests/s"]].

%% The same requests by module socket.
natives(Clients, Each) ->
    {ok, L} = socket:open(inet, stream, tcp),
    ok = socket:bind(L, #{family => inet, port => 0, addr => loopback}),
    ok = socket:listen(L, 1024),
    {ok, At} = socket:sockname(L),
    Pairs = [begin
                 {ok, C} = socket:open(inet, stream, tcp),
                 ok = socket:connect(C, At),
                 {ok, S} = socket:accept(L),
                 {C, S}
             end || _ <- lists:seq(1, Clients)],
    Me = self(),
    N = per_second(Clients * Each, fun() ->
        [spawn(fun() -> native_echo(S) end) || {_, S} <- Pairs],
        [spawn(fun() -> native_ask(C, Each), Me ! done end) || {C, _} <- Pairs],
        [receive done -> ok end || _ <- Pairs]
    end),
    [ok = socket:close(C) || {C, _} <- Pairs],
    N.

native_echo(S) ->
    case socket:recv(S) of
        {ok, Data} -> ok = socket:send(S, Data), native_echo(S);
        {error, _} -> socket:close(S)
    end.

native_ask(_, 0) -> ok;
native_ask(C, N) ->
    ok = socket:send(C, ?REQUEST),
    {ok, _} = socket:recv(C),
    native_ask(C, N - 1).

listen(Serve) ->
    {ok, L} = gen_tcp:listen(0, ?LISTEN),
    spawn(fun() -> accept(L, Serve) end),
    {ok, Number} = inet:port(L),
    Number.

accept(L, Serve) ->
    {ok, S} = gen_tcp:accept(L),
    Pid = spawn(fun() -> receive go -> Serve(S) end end),
    ok = gen_tcp:controlling_process(S, Pid),
    Pid ! go,
    accept(L, Serve).

passive(S) ->
    case gen_tcp:recv(S, 0) of
        {ok, Data} -> gen_tcp:send(S, Data), passive(S);
        _ -> gen_tcp:close(S)
    end.

once(S) ->
    inet:setopts(S, [{active, once}]),
    receive
        {tcp, S, Data} -> gen_tcp:send(S, Data), once(S);
        {tcp_closed, S} -> ok
    end.

connect(Number) ->
    {ok, C} = gen_tcp:connect({127,0,0,1}, Number, [binary, {active, false}, {nodelay, true}]),
    C.

requests(Serve, Clients, Each) ->
    Number = listen(Serve),
    Me = self(),
    per_second(Clients * Each, fun() ->
        Client = fun() -> C = connect(Number), ask(C, Each), gen_tcp:close(C), Me ! done end,
        [spawn(Client) || _ <- lists:seq(1, Clients)],
        [receive done -> ok end || _ <- lists:seq(1, Clients)]
    end).

ask(_, 0) -> ok;
ask(C, N) ->
    ok = gen_tcp:send(C, ?REQUEST),
    {ok, _} = gen_tcp:recv(C, 0),
    ask(C, N - 1).

connections(N) ->
    Number = listen(fun passive/1),
    per_second(N, fun() -> [gen_tcp:close(connect(Number)) || _ <- lists:seq(1, N)] end).

stream(N, Data) ->
    Me = self(),
    Number = listen(fun(S) -> Me ! {read, read_all(S, 0)} end),
    per_second(N * byte_size(Data) div 1000000, fun() ->
        C = connect(Number),
        [ok = gen_tcp:send(C, Data) || _ <- lists:seq(1, N)],
        gen_tcp:close(C),
        receive {read, Size} when Size =:= N * byte_size(Data) -> ok end
    end).

read_all(S, N) ->
    case gen_tcp:recv(S, 0) of
        {ok, Data} -> read_all(S, N + byte_size(Data));
        _ -> N
    end.

per_second(N, Work) ->
    Begin = erlang:monotonic_time(microsecond),
    Work(),
    N * 1000000 div (erlang:monotonic_time(microsecond) - Begin).
