%% What programs see of sockets: each case is a process whose result and messages are printed, with whatever changes
%% from run to run left out. `sockets:main()` runs them all, `sockets:stress(Seed)` prints nothing but `ok`.
-module(sockets).
-export([main/0, stress/1]).

main() ->
    [io:format("~s: ~tp~n", [Name, run(Case)]) || {Name, Case} <- cases()],
    halt().

run(Case) ->
    Me = self(),
    Pid = spawn(fun() ->
                        process_flag(trap_exit, true),
                        Me ! {self(), try shown(Case()) catch Class:Reason -> {Class, shown(Reason)} end}
                end),
    receive {Pid, Result} -> Result after 20000 -> did_not_end end.

shown(Port) when is_port(Port) -> port;
shown(Pid) when is_pid(Pid) -> pid;
shown(Tuple) when is_tuple(Tuple) -> list_to_tuple(shown(tuple_to_list(Tuple)));
shown([Head | Tail]) -> [shown(Head) | shown(Tail)];
shown(Other) -> Other.

messages() -> receive M -> [M | messages()] after 150 -> [] end.

%% {Listener, Client, Server}
pair(Listen, Connect) ->
    {ok, L} = gen_tcp:listen(0, [{ip, loopback} | Listen]),
    {ok, Number} = inet:port(L),
    {ok, C} = gen_tcp:connect({127,0,0,1}, Number, Connect),
    {ok, S} = gen_tcp:accept(L),
    {L, C, S}.

-define(PASSIVE, [binary, {active, false}]).

cases() ->
    [{"passive", fun passive/0}, {"active", fun active/0}, {"lines", fun lines/0}, {"http", fun http/0},
     {"half a header", fun half_a_header/0}, {"tls records", fun tls_records/0},
     {"too long", fun too_long/0}, {"options", fun options/0}, {"options that are refused", fun refused/0},
     {"datagrams", fun datagrams/0}, {"datagrams to nobody", fun to_nobody/0}, {"ancillary data", fun ancillary/0},
     {"nobody listens", fun nobody_listens/0}, {"time out", fun time_out/0}, {"listening", fun listening/0},
     {"several accept", fun several_accept/0}, {"an acceptor is killed", fun killed_acceptor/0}, {"local", fun local/0},
     {"version 6", fun version_6/0},
     {"slow reader", fun slow_reader/0}, {"what waits is written", fun what_waits_is_written/0},
     {"the owner ends", fun owner_ends/0}, {"shut down", fun shut_down/0}, {"half closed", fun half_closed/0},
     {"reset", fun reset/0}, {"reset, active", fun reset_active/0}, {"sendfile", fun send_file/0},
     {"controlling process", fun controlling/0}, {"monitor", fun monitored/0}, {"header", fun header/0},
     {"put back", fun put_back/0}, {"deliver", fun deliver/0}, {"information", fun information/0},
     {"interfaces", fun interfaces/0}, {"names", fun names/0}, {"two receive", fun two_receive/0},
     {"hostile control", fun hostile_control/0}, {"drivers by name", fun drivers/0}, {"descriptor", fun descriptor/0},
     {"links", fun links/0}, {"closed twice", fun closed_twice/0}, {"delayed", fun delayed/0}
     | [{io_lib:format("packet ~p", [P]), fun() -> packets(P) end} || P <- [0, 1, 2, 4, asn1, sunrm, cdr, fcgi, tpkt]]].

passive() ->
    {_, C, S} = pair(?PASSIVE, ?PASSIVE),
    ok = gen_tcp:send(C, "hello"),
    A = gen_tcp:recv(S, 0),
    ok = gen_tcp:send(S, [<<"wo">>, "rld"]),
    B = gen_tcp:recv(C, 5, 1000),
    D = {gen_tcp:recv(C, 1, 50), gen_tcp:recv(C, 0, 0)},
    gen_tcp:close(S),
    {A, B, D, gen_tcp:recv(C, 0), gen_tcp:recv(C, 0), gen_tcp:send(C, "x"), gen_tcp:send(C, "x")}.

active() ->
    {_, C, S} = pair([list, {active, true}], [binary, {active, once}]),
    gen_tcp:send(C, "hello"),
    A = messages(),
    gen_tcp:send(S, "abc"),
    B = messages(),
    gen_tcp:send(S, "def"),
    D = messages(),
    inet:setopts(C, [{active, 2}]),
    E = messages(),
    gen_tcp:send(S, "ghi"),
    F = messages(),
    gen_tcp:close(S),
    inet:setopts(C, [{active, once}]),
    {A, B, D, E, F, messages(), inet:setopts(C, [{active, once}])}.

packets(P) ->
    {_, C, S} = pair([{packet, P} | ?PASSIVE], [{packet, case is_integer(P) of true -> P; false -> raw end} | ?PASSIVE]),
    gen_tcp:send(C, case P of
                        asn1 -> [4, 3, "abc"];
                        sunrm -> [<<1:1, 3:31>>, "abc"];
                        cdr -> ["GIOP", <<1, 2, 0, 0, 3:32>>, "abc"];
                        fcgi -> [<<1, 4, 1:16, 3:16, 2, 0>>, "abcPP"];
                        tpkt -> [<<3, 0, 7:16>>, "abc"];
                        _ -> "abc"
                    end),
    {gen_tcp:recv(S, 0), gen_tcp:recv(S, 0, 50), gen_tcp:recv(S, 3, 10)}.

lines() ->
    {_, C, S} = pair([{packet, line}, {buffer, 8} | ?PASSIVE], ?PASSIVE),
    gen_tcp:send(C, "abc\ndefghijklmnop\nxx\n"),
    Got = [gen_tcp:recv(S, 0, 500) || _ <- [1, 2, 3, 4]],
    inet:setopts(S, [{line_delimiter, $;}]),
    gen_tcp:send(C, "p;q\n;rest"),
    {Got, gen_tcp:recv(S, 0, 500), gen_tcp:recv(S, 0, 500), gen_tcp:recv(S, 0, 50), inet:setopts(S, [{packet, 0}]),
     gen_tcp:recv(S, 0, 50)}.

http() ->
    {_, C, S} = pair([binary, {active, true}, {packet, http}], ?PASSIVE),
    gen_tcp:send(C, "GET /x HTTP/1.1\r\nHost: a.b\r\nX-Foo: bar\r\n\r\nPOST / HTTP/1.0\r\n\r\n"),
    A = messages(),
    inet:setopts(S, [{packet, raw}]),
    gen_tcp:send(C, "body"),
    B = messages(),
    inet:setopts(S, [{packet, http_bin}, {active, false}]),
    gen_tcp:send(C, "GARBAGE\r\nHTTP/1.1 200 OK\r\nServer: x\r\n\r\n"),
    {A, B, [gen_tcp:recv(S, 0, 200) || _ <- [1, 2, 3, 4, 5]]}.

half_a_header() ->
    {_, C, S} = pair([{packet, 4} | ?PASSIVE], ?PASSIVE),
    gen_tcp:send(C, [0, 0]),
    A = gen_tcp:recv(S, 0, 50),
    gen_tcp:send(C, [0, 3, "ab"]),
    B = gen_tcp:recv(S, 0, 50),
    gen_tcp:send(C, ["c", <<200000:32>>, binary:copy(<<"d">>, 200000)]),
    D = gen_tcp:recv(S, 0, 500),
    {ok, Long} = gen_tcp:recv(S, 0, 5000),
    {A, B, D, byte_size(Long)}.

tls_records() ->
    {_, C, S} = pair([binary, {active, true}, {packet, ssl_tls}], ?PASSIVE),
    gen_tcp:send(C, [22, 3, 1, <<4:16>>, "abcd", 23, 3, 3, <<2:16>>, "xy"]),
    A = messages(),
    inet:setopts(S, [{active, false}]),
    gen_tcp:send(C, [21, 3, 3, <<1:16>>, "z"]),
    {A, gen_tcp:recv(S, 0, 100)}.

too_long() ->
    {_, C, S} = pair([binary, {active, true}, {packet, 4}, {packet_size, 10}], ?PASSIVE),
    gen_tcp:send(C, <<100:32, "x">>),
    A = messages(),
    {_, C2, S2} = pair([{packet, 4}, {packet_size, 10} | ?PASSIVE], ?PASSIVE),
    gen_tcp:send(C2, <<100:32, "x">>),
    {A, erlang:port_info(S), gen_tcp:recv(C, 0, 100), gen_tcp:recv(S2, 0), gen_tcp:recv(S2, 0)}.

options() ->
    Names = [active, buffer, delay_send, deliver, dontroute, exit_on_close, header, high_watermark, keepalive, linger,
             low_watermark, mode, nodelay, packet, packet_size, priority, reuseaddr, send_timeout, send_timeout_close,
             show_econnreset, tos, ttl, recvtos, recvttl, high_msgq_watermark, low_msgq_watermark, line_delimiter,
             ipv6_v6only, {raw, 6, 1, 4}, bind_to_device, netns, broadcast, multicast_ttl, multicast_loop,
             read_packets, pktoptions, recbuf, sndbuf, nopush, nosuch],
    All = fun(Socket) -> [{N, inet:getopts(Socket, [N])} || N <- Names] end,
    {L, C, S} = pair(?PASSIVE, [binary]),
    {ok, U} = gen_udp:open(0, []),
    {ok, V} = gen_udp:open(0, [inet6]),
    Set = [{N, inet:setopts(S, [{N, V0}]), inet:getopts(S, [N])} ||
              {N, V0} <- [{keepalive, true}, {nodelay, true}, {linger, {true, 3}}, {tos, 16}, {priority, 3}, {ttl, 9},
                          {buffer, 77}, {header, 3}, {packet, 2}, {mode, list}, {deliver, port}, {packet_size, 99},
                          {high_watermark, 10}, {low_watermark, 20}, {send_timeout, 7}, {send_timeout_close, true},
                          {delay_send, true}, {exit_on_close, false}, {show_econnreset, true}, {active, 12},
                          {recvtos, true}]],
    Udp = [{N, inet:setopts(U, [{N, V0}]), inet:getopts(U, [N])} ||
              {N, V0} <- [{broadcast, true}, {multicast_ttl, 4}, {multicast_loop, false}, {read_packets, 9},
                          {reuseaddr, true}]],
    {All(C), All(L), All(U), All(V), Set, Udp,
     [begin inet:setopts(U, [{recbuf, N}]), inet:getopts(U, [buffer]) end || N <- [3000, 20000, 100000]]}.

refused() ->
    {ok, U} = gen_udp:open(0, []),
    {ok, T} = gen_tcp:listen(0, []),
    [{O, inet:setopts(U, [O]), inet:setopts(T, [O])} ||
        O <- [{tos, 99999999}, {priority, -1}, {ttl, -5}, {buffer, 0}, {read_packets, 0}, {nosuch, 1}, nosuch,
              {bind_to_device, <<"nosuch">>}, {high_msgq_watermark, 0}, {nodelay, true}, {send_timeout, 1},
              {active, 32767}, {active, 1}, {active, -32768}, {active, foo}, {packet, 3}, {mode, other},
              {linger, true}, {raw, 0, 1, <<1, 2>>}, {header, -1},
              {add_membership, {{1,0,0,251}, {127,0,0,1}}}, {add_membership, {{1,2,3}, any}}]] ++
        [gen_tcp:connect({127,0,0,1}, 1, [{netns, "/no/such"}]), gen_udp:open(0, [{netns, "/no/such"}])].

datagrams() ->
    {ok, A} = gen_udp:open(0, ?PASSIVE),
    {ok, B} = gen_udp:open(0, [{active, true}]),
    {ok, NumberA} = inet:port(A),
    {ok, NumberB} = inet:port(B),
    ok = gen_udp:send(B, {127,0,0,1}, NumberA, "hi"),
    {ok, {Ip, NumberB, Data}} = gen_udp:recv(A, 0, 1000),
    ok = gen_udp:send(A, localhost, NumberB, <<"yo">>),
    Active = receive {udp, B, Ip2, NumberA, Data2} -> {Ip2, Data2} after 1000 -> messages() end,
    Late = gen_udp:recv(A, 0, 20),
    ok = gen_udp:connect(A, {127,0,0,1}, NumberB),
    ok = gen_udp:send(A, "connected"),
    Connected = receive {udp, B, Ip3, NumberA, Data3} -> {Ip3, Data3} after 1000 -> messages() end,
    inet:setopts(B, [{active, 2}]),
    [ok = gen_udp:send(A, [N]) || N <- [1, 2]],
    Counted = [element(1, M) || M <- messages()],
    Large = gen_udp:send(A, binary:copy(<<"x">>, 70000)),
    {ok, Statistics} = inet:getstat(A, [send_cnt, recv_cnt, recv_oct, send_oct, send_max, recv_avg, send_pend]),
    {Ip, Data, Active, Late, Connected, Counted, Large, Statistics}.

to_nobody() ->
    {ok, A} = gen_udp:open(0, ?PASSIVE),
    {ok, B} = gen_udp:open(0, [{active, true}]),
    ok = gen_udp:connect(A, {127,0,0,1}, 1),
    ok = gen_udp:connect(B, {127,0,0,1}, 1),
    gen_udp:send(A, "x"),
    gen_udp:send(B, "x"),
    {ok, V6} = gen_udp:open(0, [inet6, binary]),
    {gen_udp:recv(A, 0, 500), messages(), gen_udp:send(V6, {127,0,0,1}, 9, "x"), gen_udp:recv(B, 0),
     gen_udp:close(A), gen_udp:recv(A, 0)}.

ancillary() ->
    {ok, A} = gen_udp:open(0, [binary, {recvtos, true}, {recvttl, true}]),
    {ok, Number} = inet:port(A),
    {ok, B} = gen_udp:open(0, []),
    Sent = gen_udp:send(B, {{127,0,0,1}, Number}, [{tos, 16}, {ttl, 7}], "x"),
    Got = receive {udp, A, _, _, Data, Packet} -> {Data, Packet} after 500 -> messages() end,
    inet:setopts(A, [{active, false}]),
    gen_udp:send(B, {{127,0,0,1}, Number}, [{ttl, 8}], "y"),
    {ok, {_, _, Data2, Packet2}} = gen_udp:recv(A, 0, 500),
    {Sent, Got, Data2, Packet2, gen_udp:send(B, {{127,0,0,1}, Number}, [{nodelay, true}], "x")}.

nobody_listens() ->
    {gen_tcp:connect({127,0,0,1}, 1, []), gen_tcp:connect({127,0,0,1}, 1, [], 100),
     gen_tcp:connect({local, "/no/such"}, 0, [])}.

time_out() ->
    {ok, L} = gen_tcp:listen(0, []),
    {gen_tcp:accept(L, 30), gen_tcp:accept(L, 0), messages()}.

listening() ->
    {ok, L} = gen_tcp:listen(0, []),
    {ok, Number} = inet:port(L),
    {gen_tcp:listen(Number, []), gen_tcp:listen(1, [{ip, {1,2,3,4}}]), inet:sockname(L) == {ok, {{0,0,0,0}, Number}},
     inet:peername(L), gen_tcp:recv(L, 0), gen_tcp:send(L, "x"), gen_tcp:shutdown(L, read), gen_tcp:close(L),
     gen_tcp:accept(L), inet:sockname(L), messages()}.

killed_acceptor() ->
    {ok, L} = gen_tcp:listen(0, []),
    Before = prim_inet:getstatus(L),
    Pid = spawn(fun() -> gen_tcp:accept(L) end),
    timer:sleep(50),
    Waiting = prim_inet:getstatus(L),
    exit(Pid, kill),
    timer:sleep(50),
    {Before, Waiting, prim_inet:getstatus(L)}.

several_accept() ->
    {ok, L} = gen_tcp:listen(0, [{ip, loopback}]),
    {ok, Number} = inet:port(L),
    Me = self(),
    Pids = [spawn(fun() -> Me ! {accepted, gen_tcp:accept(L)}, receive stop -> ok end end) || _ <- [1, 2, 3]],
    timer:sleep(50),
    exit(hd(Pids), kill),
    timer:sleep(20),
    {ok, _} = gen_tcp:connect({127,0,0,1}, Number, []),
    A = messages(),
    gen_tcp:close(L),
    {A, messages()}.

local() ->
    File = "sockets_" ++ os:getpid(),
    {ok, L} = gen_tcp:listen(0, [{ifaddr, {local, File}} | ?PASSIVE]),
    {ok, C} = gen_tcp:connect({local, File}, 0, ?PASSIVE),
    {ok, S} = gen_tcp:accept(L),
    gen_tcp:send(C, "hi"),
    {ok, {local, Name}} = inet:sockname(L),
    Result = {gen_tcp:recv(S, 0), binary_to_list(Name) == File, inet:sockname(C), inet:peername(S)},
    file:delete(File),
    Abstract = list_to_binary([0, File]),
    {ok, U} = gen_udp:open(0, [{ifaddr, {local, Abstract}} | ?PASSIVE]),
    {ok, V} = gen_udp:open(0, [local]),
    ok = gen_udp:send(V, {local, Abstract}, 0, "datagram"),
    {ok, {local, Name2}} = inet:sockname(U),
    {Result, gen_udp:recv(U, 0, 500), Name2 == Abstract}.

version_6() ->
    {ok, L} = gen_tcp:listen(0, [inet6, {ip, loopback}]),
    {ok, Number} = inet:port(L),
    {ok, C} = gen_tcp:connect({0,0,0,0,0,0,0,1}, Number, [inet6]),
    {ok, {Ip, Number}} = inet:peername(C),
    {Ip, gen_tcp:connect({127,0,0,1}, Number, [inet6], 100), prim_inet:gettype(C)}.

slow_reader() ->
    {_, C, S} = pair(?PASSIVE, [{send_timeout, 100}, {sndbuf, 4096}, {high_watermark, 10000} | ?PASSIVE]),
    inet:setopts(S, [{recbuf, 4096}]),
    Big = binary:copy(<<"x">>, 5000000),
    First = gen_tcp:send(C, Big),
    Second = gen_tcp:send(C, Big),
    {ok, [{send_pend, Pending}]} = inet:getstat(C, [send_pend]),
    Busy = prim_inet:send(C, "x", [nosuspend]),
    inet:setopts(C, [{send_timeout_close, true}]),
    {First, Second, Pending > 100000, Busy, gen_tcp:send(C, "x"), gen_tcp:send(C, "x"), length(messages())}.

what_waits_is_written() ->
    {_, C, S} = pair(?PASSIVE, ?PASSIVE),
    Me = self(),
    spawn(fun() -> Me ! {read, read_all(S, 0)} end),
    Sent = [gen_tcp:send(C, binary:copy(<<"y">>, 3000000)) || _ <- [1, 2, 3]],
    gen_tcp:close(C),
    receive {read, Read} -> {Sent, Read} end.

read_all(S, N) ->
    case gen_tcp:recv(S, 0, 5000) of
        {ok, Data} -> read_all(S, N + byte_size(Data));
        Other -> {N, Other}
    end.

owner_ends() ->
    {L, _, _} = pair(?PASSIVE, ?PASSIVE),
    {ok, Number} = inet:port(L),
    {Pid, Ref} = spawn_monitor(fun() ->
                                       {ok, C} = gen_tcp:connect({127,0,0,1}, Number, ?PASSIVE),
                                       ok = gen_tcp:send(C, binary:copy(<<"z">>, 4000000)),
                                       exit(done)
                               end),
    {ok, S} = gen_tcp:accept(L),
    receive {'DOWN', Ref, process, Pid, Why} -> {Why, read_all(S, 0)} end.

shut_down() ->
    {_, C, S} = pair(?PASSIVE, ?PASSIVE),
    gen_tcp:send(C, "q"),
    ok = gen_tcp:shutdown(C, write),
    {gen_tcp:send(C, "x"), gen_tcp:recv(S, 0), gen_tcp:recv(S, 0), gen_tcp:send(S, "late"), gen_tcp:recv(C, 0)}.

half_closed() ->
    {_, C, S} = pair([binary, {active, true}, {exit_on_close, false}], ?PASSIVE),
    ok = gen_tcp:shutdown(C, write),
    A = messages(),
    B = gen_tcp:send(S, "late"),
    D = gen_tcp:recv(C, 0),
    {_, C2, S2} = pair([{exit_on_close, false} | ?PASSIVE], ?PASSIVE),
    ok = gen_tcp:shutdown(C2, write),
    {A, B, D, gen_tcp:recv(S2, 0), gen_tcp:send(S2, "more"), gen_tcp:recv(C2, 0)}.

reset() ->
    {_, C, S} = pair([{show_econnreset, true} | ?PASSIVE], ?PASSIVE),
    inet:setopts(C, [{linger, {true, 0}}]),
    gen_tcp:close(C),
    timer:sleep(30),
    {gen_tcp:recv(S, 0), gen_tcp:send(S, "x"), gen_tcp:recv(S, 0)}.

reset_active() ->
    [begin
         {_, C, S} = pair([binary, {active, true}, {show_econnreset, Shown}], ?PASSIVE),
         inet:setopts(C, [{linger, {true, 0}}]),
         gen_tcp:close(C),
         {messages(), gen_tcp:send(S, "x")}
     end || Shown <- [true, false]].

send_file() ->
    File = "sent_" ++ os:getpid(),
    Data = binary:copy(<<"abc">>, 1000000),
    ok = file:write_file(File, Data),
    {_, C, S} = pair(?PASSIVE, ?PASSIVE),
    Me = self(),
    spawn_link(fun() -> Me ! {got, gen_tcp:recv(S, 3000010, 5000)} end),
    Whole = file:sendfile(File, C),
    {ok, F} = file:open(File, [read, raw, binary]),
    Part = file:sendfile(F, C, 3, 10, []),
    ok = file:close(F),
    {got, {ok, Got}} = receive {got, _} = M -> M end,
    ok = file:write_file(File, "small"),
    % The file is closed when the sender learns that it has been sent.
    Open = [begin {ok, 5} = file:sendfile(File, C), times_open(File) end || _ <- lists:seq(1, 200)],
    file:delete(File),
    {Whole, Part, Got == <<Data/binary, (binary:part(Data, 3, 10))/binary>>, lists:usort(Open)}.

times_open(File) ->
    {ok, Names} = file:list_dir("/proc/self/fd"),
    Links = [file:read_link("/proc/self/fd/" ++ Name) || Name <- Names],
    length([1 || {ok, Link} <- Links, filename:basename(Link) =:= File]).

controlling() ->
    {_, C, S} = pair([binary, {active, true}], ?PASSIVE),
    Me = self(),
    Pid = spawn(fun() -> receive go -> Me ! {got, shown(messages())} end end),
    gen_tcp:send(C, "x"),
    timer:sleep(30),
    ok = gen_tcp:controlling_process(S, Pid),
    Pid ! go,
    receive {got, Got} -> {Got, gen_tcp:controlling_process(S, self())} end.

monitored() ->
    {_, C, S} = pair([{active, true}], []),
    Ref = erlang:monitor(port, C),
    Ref2 = erlang:monitor(port, S),
    gen_tcp:close(C),
    {receive {'DOWN', Ref, port, C, Why} -> Why end, receive {'DOWN', Ref2, port, S, Why2} -> Why2 end}.

header() ->
    {_, C, S} = pair([{header, 2} | ?PASSIVE], []),
    gen_tcp:send(C, "abcdef"),
    A = gen_tcp:recv(S, 0),
    gen_tcp:send(C, "g"),
    {A, gen_tcp:recv(S, 0)}.

put_back() ->
    {_, C, S} = pair(?PASSIVE, []),
    gen_tcp:send(C, "abc"),
    {ok, Data} = gen_tcp:recv(S, 0),
    {gen_tcp:unrecv(S, Data), gen_tcp:recv(S, 2), gen_tcp:unrecv(S, "12"), gen_tcp:recv(S, 0)}.

deliver() ->
    {_, C, S} = pair([binary, {active, true}, {deliver, port}], ?PASSIVE),
    gen_tcp:send(C, "abc"),
    A = messages(),
    gen_tcp:close(C),
    {A, messages(), erlang:port_info(S)}.

information() ->
    {L, C, _} = pair([], []),
    {erlang:port_info(L, name), prim_inet:getstatus(L), prim_inet:getstatus(C), inet:getstat(C),
     prim_inet:gettype(C), erlang:port_info(C, connected) == {connected, self()}, inet:stats()}.

interfaces() ->
    {ok, Host} = inet:gethostname(),
    {is_list(Host), inet:getifaddrs(), inet:getiflist(), inet:ifget("lo", [addr, flags, mtu, netmask, hwaddr]),
     inet:ifget("nosuch", [addr])}.

names() ->
    {ok, U} = prim_inet:open(udp, inet, dgram),
    {inet:gethostbyname("localhost"), inet:getaddr("localhost", inet), inet:getservbyname(http, tcp),
     inet:getservbyname(nosuch, tcp), prim_inet:getservbyport(U, 80, tcp), prim_inet:getservbyport(U, 64999, tcp)}.

two_receive() ->
    {_, _, S} = pair(?PASSIVE, []),
    spawn(fun() -> gen_tcp:recv(S, 0) end),
    timer:sleep(30),
    {gen_tcp:recv(S, 0, 10), inet:setopts(S, [{active, true}]), gen_tcp:recv(S, 0, 10)}.

hostile_control() ->
    {_, C, _} = pair([], []),
    Base = 16#03f1a300,
    Bytes = [[], [1], [255, 255, 255, 255], binary:copy(<<255>>, 40), binary:copy(<<0>>, 300)],
    Requests = lists:seq(0, 70) -- [1, 2, 3, 6, 7, 12, 13, 14, 21, 25, 26, 27, 42, 43, 44, 45, 60],
    Answers = [catch port_control(C, Base + R, B) || R <- Requests, B <- Bytes],
    {catch element(1, catch port_control(C, foo, [])), port_control(C, 1, []),
     [A || A <- Answers, not is_list(A), element(1, A) =/= 'EXIT'], gen_tcp:send(C, "still there")}.

drivers() ->
    Port = open_port({spawn_driver, "tcp_inet"}, []),
    Port2 = open_port({spawn, "udp_inet"}, [binary]),
    {erlang:port_info(Port, name), port_close(Port2), gen_tcp:recv(Port, 0), gen_tcp:send(Port, "x"),
     [try open_port({spawn_driver, N}, []) catch error:E -> E end || N <- ["nosuch", ""]]}.

descriptor() ->
    {ok, L} = gen_tcp:listen(0, [{ip, loopback}]),
    {ok, Fd} = inet:getfd(L),
    {ok, L2} = gen_tcp:listen(0, [{fd, Fd}]),
    {ok, Number} = inet:port(L),
    {inet:port(L2) == {ok, Number}, element(1, gen_tcp:connect({127,0,0,1}, Number, [])),
     element(1, gen_tcp:accept(L2, 1000)), gen_tcp:listen(0, [{fd, 12345}])}.

links() ->
    {L, C, S} = pair([{active, true}], []),
    {links, Before} = process_info(self(), links),
    exit(C, other),
    A = messages(),
    exit(S, kill),
    {lists:sort([L, C, S]) == lists:sort([P || P <- Before, is_port(P)]), A, messages(), unlink(L), exit(L, bye),
     messages(), erlang:port_info(L)}.

closed_twice() ->
    {_, C, S} = pair([{active, once}], []),
    {gen_tcp:close(C), gen_tcp:close(C), catch port_close(C), gen_tcp:send(C, "x"), inet:setopts(C, [{active, true}]),
     messages(), gen_tcp:close(S)}.

delayed() ->
    {_, C, S} = pair(?PASSIVE, [{delay_send, true}]),
    ok = gen_tcp:send(C, "a"),
    ok = gen_tcp:send(C, "b"),
    {ok, Data} = gen_tcp:recv(S, 2, 1000),
    ok = gen_tcp:send(C, "c"),
    gen_tcp:close(C),
    {Data, gen_tcp:recv(S, 0, 1000), gen_tcp:recv(S, 0, 1000)}.

%% Connections that come, talk and go in every way at once: each byte arrives, and no port is left.
stress(Seed) ->
    Before = length(erlang:ports()),
    {ok, L} = gen_tcp:listen(0, [binary, {active, false}, {backlog, 1000}, {ip, loopback}]),
    {ok, Number} = inet:port(L),
    Acceptors = [spawn(fun() -> serve(L) end) || _ <- lists:seq(1, 4)],
    Clients = [spawn_monitor(fun() -> client({Seed, N, 0}, Number) end) || N <- lists:seq(1, 60)],
    [receive {'DOWN', Ref, process, Pid, Why} -> normal = Why end || {Pid, Ref} <- Clients],
    gen_tcp:close(L),
    [exit(A, kill) || A <- Acceptors],
    ok = none_left(Before, 100),
    io:format("ok~n"),
    halt().

none_left(Before, Tries) ->
    case length(erlang:ports()) of
        N when N =< Before -> ok;
        N when Tries =:= 0 -> {left, N - Before};
        _ -> timer:sleep(50), none_left(Before, Tries - 1)
    end.

serve(L) ->
    case gen_tcp:accept(L) of
        {ok, S} ->
            Pid = spawn(fun() -> receive go -> echo(S, rand:uniform(3)) end end),
            ok = gen_tcp:controlling_process(S, Pid),
            Pid ! go,
            serve(L);
        _ ->
            ok
    end.

echo(S, 1) ->
    case gen_tcp:recv(S, 0) of
        {ok, Data} -> gen_tcp:send(S, Data), echo(S, 1);
        _ -> gen_tcp:close(S)
    end;
echo(S, How) ->
    inet:setopts(S, [{active, if How =:= 2 -> once; true -> 3 end}]),
    echo_active(S, How).

echo_active(S, How) ->
    receive
        {tcp, S, Data} when How =:= 2 -> gen_tcp:send(S, Data), echo(S, 2);
        {tcp, S, Data} -> gen_tcp:send(S, Data), echo_active(S, 3);
        {tcp_passive, S} -> echo(S, 3);
        {tcp_closed, S} -> ok
    end.

client(Seed, Number) ->
    rand:seed(exsss, Seed),
    [talk(Number) || _ <- lists:seq(1, 10)].

talk(Number) ->
    {ok, C} = gen_tcp:connect({127,0,0,1}, Number, [binary, {active, false}]),
    [begin
         Data = rand:bytes(rand:uniform(20000)),
         ok = gen_tcp:send(C, Data),
         {ok, Data} = gen_tcp:recv(C, byte_size(Data), 20000)
     end || _ <- lists:seq(1, rand:uniform(4))],
    case rand:uniform(3) of
        1 -> gen_tcp:close(C);
        2 -> gen_tcp:shutdown(C, read_write);
        3 -> ok = inet:setopts(C, [{linger, {true, 0}}]), gen_tcp:close(C)
    end.
