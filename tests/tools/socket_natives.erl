%% Module socket and module net, and gen_tcp and gen_udp on them ({inet_backend, socket}): prints what a program sees,
%% which is to be the same on erl; and stress/1, many sockets and processes at once from a seed.
-module(socket_natives).
-export([main/0, stress/1]).

main() ->
    [section(F) || F <- [known, options, devices, names, wrong, closed, streams, waiting, lines, datagrams, messages,
                         local_sockets, files, descriptors, ends, limits, backend_tcp, backend_udp]],
    halt(0).

section(F) ->
    io:format("---- ~s~n", [F]),
    Me = self(),
    {Pid, Ref} = spawn_monitor(fun() -> f(F), Me ! {done, self()} end),
    receive
        {done, Pid} -> ok;
        {'DOWN', Ref, _, _, Why} -> show({ended, Why})
    after 20000 -> show(did_not_end), exit(Pid, kill)
    end,
    receive {'DOWN', Ref, _, _, _} -> ok after 0 -> erlang:demonitor(Ref, [flush]) end.

%% Values one to a line, maps in the order of their keys.
show(T) -> io:format("~0tp~n", [plain(T)]).
show(Name, T) -> io:format("~0tp: ~0tp~n", [plain(Name), plain(T)]).
plain(M) when is_map(M) -> {map, lists:sort([{K, plain(V)} || {K, V} <- maps:to_list(M)])};
plain(T) when is_tuple(T) -> list_to_tuple([plain(E) || E <- tuple_to_list(T)]);
plain([H | T]) -> [plain(H) | plain(T)];
plain(R) when is_reference(R) -> ref;
plain(P) when is_pid(P) -> pid;
plain(P) when is_port(P) -> port;
plain(X) -> X.

%% Classes and reasons of a failure; not where.
try_all(Funs) ->
    [show(try F() catch C:R -> {C, R} end) || F <- Funs].

no_sctp(L) ->
    [E || E <- lists:sort(L), string:find(io_lib:format("~p", [E]), "sctp", leading) =:= nomatch,
          string:find(io_lib:format("~p", [E]), "SCTP", leading) =:= nomatch].

f(known) ->
    show(maps:remove(counters, socket:info())),
    [show(K, E) || K <- [options, msg_flags, protocols, ioctl_requests, ioctl_flags], E <- no_sctp(socket:supports(K))],
    show([K || {K, true} <- no_sctp(socket:supports()), K =/= sctp]),
    show([socket:is_supported(K) || K <- [ipv6, local, netns, sendfile]]),
    show([socket:is_supported(options, O) || O <- [{ip, tos}, {tcp, info}, {nope, nope}]]),
    Before = maps:get(counters, socket:info()),
    {ok, S} = socket:open(inet, stream, tcp),
    {ok, U} = socket:open(inet6, dgram, udp),
    {ok, L} = socket:open(local, seqpacket),
    After = maps:get(counters, socket:info()),
    show(maps:map(fun(K, V) -> V - maps:get(K, Before) end, maps:without([num_dlocal, num_dinet6], After))),
    [begin show(socket:info(X)), socket:close(X) end || X <- [S, U, L]];
f(options) ->
    {ok, S} = socket:open(inet, stream, tcp),
    [show(O, socket:getopt(S, O)) || {O, _} <- no_sctp(socket:supports(options))],
    [show(O, try socket:getopt(S, {otp, O}) catch C:R -> {C, R} end) || O <- [debug, iow, rcvbuf, rcvctrlbuf, sndctrlbuf, meta, use_registry, domain]],
    [show({O, V}, try socket:setopt(S, O, V) catch C:R -> {C, R} end) || {O, V} <-
        [{{ip, tos}, lowdelay}, {{ip, tos}, 16}, {{ip, tos}, bad}, {{socket, linger}, #{onoff => true, linger => 5}},
         {{socket, linger}, abort}, {{socket, linger}, 5}, {{socket, keepalive}, true}, {{socket, keepalive}, 1},
         {{socket, rcvbuf}, a}, {{tcp, congestion}, "reno"}, {{tcp, congestion}, "nonesuch"},
         {{ip, mtu_discover}, dont}, {{ip, mtu_discover}, xx}, {{ip, multicast_if}, {127, 0, 0, 1}},
         {{ip, add_membership}, #{multiaddr => {224, 0, 0, 251}, interface => any}},
         {{ip, add_membership}, #{multiaddr => {224, 0, 0, 251}}}, {{ip, drop_membership}, #{multiaddr => any, interface => any}},
         {{ip, msfilter}, #{multiaddr => any, interface => any, mode => include, slist => [x]}},
         {{otp, rcvbuf}, 4096}, {{otp, rcvbuf}, {3, 1024}}, {{otp, rcvbuf}, 0}, {{otp, rcvbuf}, {0, 5}}, {{otp, rcvbuf}, default},
         {{otp, rcvctrlbuf}, 7}, {{otp, sndctrlbuf}, x}, {{otp, meta}, {a, "b"}}, {{otp, nope}, 1}, {{nope, nope}, 1},
         {{socket, type}, stream}, {{socket, bindtodevice}, "lo"}, {{socket, bindtodevice}, "nosuchdevice0"},
         {{otp, debug}, maybe_}, {{otp, use_registry}, false}, {{socket, priority}, 3}, {{ip, ttl}, 1 bsl 40},
         {{ip, minttl}, -1}, {{tcp, maxseg}, 100}, {{tcp, nodelay}, true}]],
    [show(O, socket:getopt(S, O)) || O <- [{ip, tos}, {socket, linger}, {tcp, congestion}, {ip, mtu_discover}, {ip, multicast_if},
                                           {otp, rcvbuf}, {otp, rcvctrlbuf}, {otp, meta}, {socket, priority}, {tcp, nodelay},
                                           {nope, nope}, {ip, add_membership}]],
    try_all([fun() -> socket:getopt_native(S, O, V) end ||
                {O, V} <- [{{socket, keepalive}, integer}, {{socket, keepalive}, boolean}, {{socket, keepalive}, 4}, {{6, 1}, 4},
                           {{socket, 9}, <<0:32>>}, {{socket, keepalive}, foo}, {{socket, 9}, 0}, {{nope, 9}, 4}, {{6, 1 bsl 40}, 4}]]),
    try_all([fun() -> socket:setopt_native(S, O, V) end ||
                {O, V} <- [{{socket, keepalive}, <<0:32>>}, {{socket, 9}, true}, {{6, 1}, 1}, {{6, 1}, foo}, {{socket, 9}, <<>>}]]),
    {ok, V6} = socket:open(inet6, dgram, udp),
    [show({O, V}, socket:setopt(V6, O, V)) || {O, V} <-
        [{{ipv6, v6only}, true}, {{ipv6, unicast_hops}, 5}, {{ipv6, unicast_hops}, 256}, {{ipv6, unicast_hops}, default},
         {{ipv6, mtu_discover}, do}, {{ipv6, recvpktinfo}, true}, {{ipv6, add_membership}, #{multiaddr => any, interface => 0}},
         {{ipv6, multicast_hops}, 3}]],
    [show(O, socket:getopt(V6, O)) || O <- [{ipv6, v6only}, {ipv6, unicast_hops}, {ipv6, mtu_discover}, {ipv6, multicast_hops}]];
f(devices) ->
    {ok, S} = socket:open(inet, dgram, udp),
    show(socket:ioctl(S, gifconf)),
    [show(R, try socket:ioctl(S, R, "lo") catch C:E -> {C, E} end) || R <- [gifindex, gifflags, gifaddr, gifdstaddr, gifbrdaddr, gifnetmask, gifmtu, gifmap, giftxqlen]],
    show(element(1, socket:ioctl(S, gifhwaddr, "lo"))),
    try_all([fun() -> socket:ioctl(S, gifname, 1) end, fun() -> socket:ioctl(S, gifname, 99) end,
             fun() -> socket:ioctl(S, gifaddr, "none") end, fun() -> socket:ioctl(S, foo) end,
             fun() -> socket:ioctl(S, sifmtu, "lo", x) end]);
f(names) ->
    show(net:gethostname()),
    [show(E) || E <- lists:sort(element(2, net:getifaddrs(all)))],
    try_all([fun() -> net:if_names() end, fun() -> net:if_name2index("lo") end, fun() -> net:if_index2name(1) end,
             fun() -> net:if_index2name(99) end, fun() -> net:if_name2index("nope") end, fun() -> net:getaddrinfo("localhost") end,
             fun() -> net:getaddrinfo("127.0.0.1", "http") end,
             fun() -> net:getnameinfo(#{family => inet, addr => {127, 0, 0, 1}, port => 80}) end,
             fun() -> net:getnameinfo(#{family => inet, addr => {127, 0, 0, 1}, port => 80}, [numerichost, numericserv]) end,
             fun() -> net:getnameinfo(foo) end, fun() -> net:getifaddrs(inet) end, fun() -> net:getaddrinfo(foo) end]);
f(wrong) ->
    try_all([fun() -> socket:open(foo, stream) end, fun() -> socket:open(inet, foo) end, fun() -> socket:open(inet, stream, foo) end,
             fun() -> socket:open(inet, stream, 9999) end, fun() -> socket:open(1 bsl 40, stream) end, fun() -> socket:open(77777) end,
             fun() -> socket:open(inet, stream, tcp, #{netns => "/nope"}) end, fun() -> socket:open(inet, stream, udp) end,
             fun() -> socket:info(foo) end, fun() -> socket:close(foo) end, fun() -> socket:close({'$socket', make_ref()}) end]),
    {ok, T} = socket:open(inet, stream, tcp),
    try_all([fun() -> socket:bind(T, #{family => inet, port => 0, addr => {1, 2, 3, 4}}) end,
             fun() -> socket:bind(T, #{family => inet, port => 0, addr => {1, 2, 3, 400}}) end,
             fun() -> socket:bind(T, #{family => inet, prt => 0}) end, fun() -> socket:bind(T, #{family => foo}) end,
             fun() -> socket:bind(T, #{family => local, path => "/nope/x"}) end, fun() -> socket:bind(T, #{family => 99, addr => <<1, 2>>}) end,
             fun() -> socket:listen(T, foo) end, fun() -> socket:recv(T, 0, 0) end, fun() -> socket:recv(T, -1) end,
             fun() -> socket:recv(T, 1 bsl 70) end, fun() -> socket:send(T, <<1>>) end, fun() -> socket:recv(T, 0, [foo], 0) end,
             fun() -> socket:accept(T, 0) end, fun() -> socket:connect(T, #{family => inet, port => 1, addr => {127, 0, 0, 1}}) end,
             fun() -> socket:connect(T) end, fun() -> socket:shutdown(T, foo) end, fun() -> socket:shutdown(T, write) end,
             fun() -> socket:cancel(T, {select_info, recv, make_ref()}) end, fun() -> socket:sendfile(T, foo, 0, 0) end,
             fun() -> socket:bind(T, any) end, fun() -> socket:peername(T) end, fun() -> socket:getopt(T, {socket, nope}) end,
             fun() -> socket:setopt(T, {otp, controlling_process}, self()) end, fun() -> socket:sendmsg(T, #{iov => foo}) end,
             fun() -> socket:sendmsg(T, #{iov => [<<1>>], ctrl => [#{level => foo, type => bar, data => <<>>}]}) end,
             fun() -> socket:sendmsg(T, #{iov => [<<1>>], ctrl => [#{level => socket, type => bar, value => 1}]}) end,
             fun() -> socket:sendmsg(T, #{iov => [<<1>>], addr => #{family => inet, port => x, addr => any}}) end,
             fun() -> socket:recvmsg(T, -1, 0, [], 0) end]);
f(closed) ->
    {ok, S} = socket:open(inet, stream, tcp),
    show(socket:close(S)),
    try_all([fun() -> socket:close(S) end, fun() -> socket:recv(S) end, fun() -> socket:send(S, "x") end,
             fun() -> socket:accept(S, 0) end, fun() -> socket:connect(S, #{family => inet, port => 1, addr => loopback}) end,
             fun() -> socket:listen(S) end, fun() -> socket:bind(S, any) end, fun() -> socket:getopt(S, {socket, type}) end,
             fun() -> socket:setopt(S, {socket, keepalive}, true) end, fun() -> socket:shutdown(S, read) end,
             fun() -> socket:sockname(S) end, fun() -> socket:peername(S) end, fun() -> socket:getopt(S, {otp, fd}) end,
             fun() -> socket:info(S) end, fun() -> socket:recvfrom(S) end, fun() -> socket:recvmsg(S) end,
             fun() -> socket:sendto(S, "x", #{family => inet, port => 1, addr => loopback}) end,
             fun() -> socket:sendmsg(S, #{iov => [<<1>>]}) end]);
f(streams) ->
    {A, B} = pair(inet),
    show(socket:send(A, <<"hello">>)),
    show(socket:recv(B)),
    show(socket:send(A, [<<"io">>, "list", $!])),
    show(socket:recv(B, 3)), show(socket:recv(B, 4)),
    show(socket:recv(B, 0, 0)), show(socket:recv(B, 1, 20)), show(socket:recv(B, 0, [], 20)),
    socket:send(A, "abc"), settle(),
    show(socket:recv(B, 10, 0)), show(socket:recv(B, 10, 30)),
    socket:send(A, "abcdef"), settle(),
    show(socket:recv(B, 3, [peek], 1000)), show(socket:recv(B, 6, 1000)),
    socket:send(A, "out", [oob]), settle(), show(socket:recv(B, 1, [oob], 1000)),
    socket:setopt(B, {otp, rcvbuf}, {3, 4}), socket:send(A, "0123456789abcdefghij"), settle(),
    show(socket:recv(B, 0, 1000)), show(socket:recv(B, 0, 1000)),
    socket:setopt(B, {otp, rcvbuf}, default), drain(B),
    Big = binary:copy(<<"0123456789abcdef">>, 300000),
    Me = self(),
    spawn_link(fun() -> Me ! {sent, socket:send(A, Big)} end),
    {ok, Got} = socket:recv(B, byte_size(Big)),
    show(receive {sent, R} -> R after 5000 -> timeout end), show(Got =:= Big),
    show(case socket:send(A, binary:copy(Big, 10), 50) of {error, {timeout, Rest}} -> is_binary(Rest); Other -> Other end),
    show(iov, many_parts(A, B)),
    show(socket:shutdown(A, write)),
    show(drain(B)), show(socket:recv(B, 0, 100)), show(socket:send(B, "still")), show(socket:recv(A, 5, 1000)),
    #{counters := C} = socket:info(A),
    show([K || K <- [write_byte, write_pkg, write_tries, read_byte], maps:get(K, C) > 0]),
    show([lists:sort(maps:get(K, socket:info(B))) || K <- [rstates, wstates]]),
    show(socket:close(A)), show(socket:recv(B, 0, 1000)), show(socket:close(B)),
    try_all([fun() -> {ok, S} = socket:open(inet, stream, tcp), {ok, P} = free_port(), Re = socket:connect(S, addr(inet, P)), socket:close(S), Re end]);
f(waiting) ->
    {A, B} = pair(inet),
    {select, {select_info, _, H}} = socket:recv(B, 0, nowait),
    show(message_within(B, H, 20)),
    socket:send(A, "x"),
    show(message_within(B, H, 1000)), show(socket:recv(B, 0, nowait)),
    {select, I2} = socket:recv(B, 0, nowait),
    show(socket:cancel(B, I2)), show(socket:cancel(B, I2)),
    Own = make_ref(),
    {select, {select_info, _, Own}} = socket:recv(B, 3, Own),
    socket:send(A, "ab"), show(message_within(B, Own, 1000)),
    {select, {{select_info, _, Own2}, Part}} = socket:recv(B, 3, make_ref()), show(Part),
    socket:send(A, "c"), show(message_within(B, Own2, 1000)), show(socket:recv(B, 1)),
    {select, {select_info, _, H5}} = socket:recv(B, 0, nowait),
    spawn_link(fun() -> timer:sleep(30), socket:close(A) end),
    show(message_within(B, H5, 1000)), show(socket:recv(B)),
    {ok, L} = listener(inet),
    {select, {select_info, _, H6} = I6} = socket:accept(L, nowait),
    show(socket:cancel(L, I6)),
    {select, {select_info, _, H7}} = socket:accept(L, nowait),
    {ok, #{port := P}} = socket:sockname(L),
    {ok, C} = socket:open(inet, stream, tcp), show(socket:connect(C, addr(inet, P))),
    show(message_within(L, H7, 1000)), show(element(1, socket:accept(L, nowait))),
    show(is_reference(H6)),
    {select, {select_info, _, H8}} = socket:accept(L, nowait),
    show(socket:close(L)), show(message_within(L, H8, 100));
f(lines) ->
    %% Several readers, writers and acceptors: in the order in which they came.
    {A, B} = pair(inet),
    Me = self(),
    Readers = [begin P = spawn_link(fun() -> Me ! {self(), socket:recv(B, 2)} end), settle(), P end || _ <- [1, 2, 3]],
    show(maps:get(num_readers, socket:info(B))),
    [begin socket:send(A, [$a, $0 + N]), show(receive {P, R} -> {N, R} after 1000 -> late end) end || {N, P} <- lists:enumerate(Readers)],
    show(maps:get(num_readers, socket:info(B))),
    [One, Two] = [begin P = spawn(fun() -> Me ! {self(), socket:recv(B, 2)} end), settle(), P end || _ <- [1, 2]],
    exit(One, kill), settle(),
    socket:send(A, "zz"), show(receive {Two, R2} -> R2 after 1000 -> late end),
    show(try socket:recv(B, 0, make_ref()), socket:recv(B, 0, make_ref()) catch C:E -> {C, E} end), flush(),
    {ok, L} = listener(inet),
    {ok, #{port := Port}} = socket:sockname(L),
    Acceptors = [begin P = spawn_link(fun() -> {ok, S} = socket:accept(L), Me ! {self(), accepted}, receive stop -> socket:close(S) end end), settle(), P end || _ <- [1, 2, 3]],
    show(maps:get(num_acceptors, socket:info(L))),
    Clients = [begin {ok, S} = socket:open(inet, stream, tcp), ok = socket:connect(S, addr(inet, Port)), show(receive {P, M} -> M after 1000 -> late end), S end || P <- Acceptors],
    [P ! stop || P <- Acceptors], [socket:close(S) || S <- Clients],
    Waiting = [begin P = spawn_link(fun() -> Me ! {self(), socket:accept(L)} end), settle(), P end || _ <- [1, 2]],
    show(socket:close(L)),
    [show(receive {P, M} -> M after 1000 -> late end) || P <- Waiting],
    %% Writers: the second waits for the first.
    {W, Rd} = pair(inet),
    Big = binary:copy(<<$x>>, 8000000),
    Ws = [begin P = spawn_link(fun() -> Me ! {self(), socket:send(W, D)} end), settle(), P end || D <- [Big, <<"yy">>]],
    show(maps:get(num_writers, socket:info(W))),
    {ok, All} = socket:recv(Rd, 8000002),
    show(binary:part(All, 7999999, 3)),
    [show(receive {P, M} -> M after 1000 -> late end) || P <- Ws];
f(datagrams) ->
    [begin
         {ok, A} = socket:open(F, dgram, udp), {ok, B} = socket:open(F, dgram, udp),
         ok = socket:bind(A, addr(F, 0)), ok = socket:bind(B, addr(F, 0)),
         {ok, To} = socket:sockname(B), {ok, From} = socket:sockname(A),
         show(socket:sendto(A, "one", To)), {ok, {Src, D}} = socket:recvfrom(B), show({Src =:= From, D}),
         socket:sendto(A, "0123456789", To), {ok, {_, D2}} = socket:recvfrom(B, 4), show(D2),
         socket:sendto(A, <<>>, To), {ok, {_, D3}} = socket:recvfrom(B, 0, 1000), show(D3),
         show(socket:recvfrom(B, 0, 0)), show(socket:recvfrom(B, 0, 20)), show(socket:recv(B, 0, 0)),
         show(socket:connect(A, To)), show(socket:send(A, "linked")), show(element(2, element(2, socket:recvfrom(B, 0, 1000)))),
         show(element(1, socket:sendto(A, binary:copy(<<0>>, 70000), To))),
         socket:close(B), socket:send(A, "lost"), settle(), show(socket:recv(A, 0, 100)),
         socket:close(A)
     end || F <- [inet, inet6]];
f(messages) ->
    {ok, A} = socket:open(inet, dgram, udp), {ok, B} = socket:open(inet, dgram, udp),
    ok = socket:bind(A, addr(inet, 0)), ok = socket:bind(B, addr(inet, 0)),
    {ok, To} = socket:sockname(B),
    [show(socket:setopt(B, O, true)) || O <- [{ip, recvttl}, {ip, recvtos}, {ip, pktinfo}, {socket, timestamp}, {ip, recvorigdstaddr}]],
    show(socket:sendmsg(A, #{addr => To, iov => [<<"a">>, <<"bc">>]})),
    show(seen(socket:recvmsg(B, 1000))),
    [begin show(C, socket:sendmsg(A, #{addr => To, iov => [<<"x">>], ctrl => [C]})), show(seen(socket:recvmsg(B, 1000))) end ||
        C <- [#{level => ip, type => ttl, value => 7}, #{level => ip, type => tos, value => reliability}, #{level => ip, type => ttl, data => <<9:32/native>>}]],
    show(socket:sendmsg(A, #{addr => To, iov => [<<"x">>], ctrl => [#{level => ip, type => ttl, value => foo}]})),
    socket:sendmsg(A, #{addr => To, iov => [<<"0123456789">>]}), show(seen(socket:recvmsg(B, 4, 0, [], 1000))),
    socket:sendmsg(A, #{addr => To, iov => [<<"0123456789">>]}), show(seen(socket:recvmsg(B, 0, 16, [], 1000))),
    show(socket:recvmsg(B, 0)),
    show(socket:sendmsg(A, #{addr => To, iov => lists:duplicate(2000, <<"a">>)})),
    {ok, E} = socket:open(inet, dgram, udp),
    show(socket:setopt(E, {ip, recverr}, true)),
    {ok, P} = free_port(),
    ok = socket:connect(E, addr(inet, P)), socket:send(E, "nobody"), settle(),
    show(seen(socket:recvmsg(E, 0, 0, [errqueue], 1000)));
f(local_sockets) ->
    Path = "s_" ++ os:getpid(),
    file:delete(Path),
    {ok, L} = socket:open(local, stream),
    show(socket:bind(L, #{family => local, path => Path})), show(socket:listen(L)),
    {ok, #{family := local, path := Name}} = socket:sockname(L), show(Name =:= list_to_binary(Path)),
    {ok, C} = socket:open(local, stream), show(socket:connect(C, #{family => local, path => Path})),
    {ok, S} = socket:accept(L),
    show(socket:peername(S)), socket:send(C, "hi"), show(socket:recv(S, 2)),
    show([socket:getopt(S, {socket, O}) || O <- [domain, type, protocol]]),
    {ok, Fd} = socket:getopt(C, {otp, fd}),
    show(socket:sendmsg(S, #{iov => [<<"fd">>], ctrl => [#{level => socket, type => rights, data => <<Fd:32/native>>}]})),
    {ok, #{iov := [<<"fd">>], ctrl := [#{level := socket, type := rights, data := <<New:32/native>>}], flags := Flags}} = socket:recvmsg(C),
    show({Flags, New =/= Fd}),
    [socket:close(X) || X <- [C, S, L]],
    file:delete(Path),
    {ok, Abs} = socket:open(local, dgram),
    show(socket:bind(Abs, #{family => local, path => <<0, "abstract", (list_to_binary(os:getpid()))/binary>>})),
    {ok, #{path := <<0, "abstract", _/binary>>}} = socket:sockname(Abs),
    {ok, Q1} = socket:open(local, seqpacket), show(socket:bind(Q1, #{family => local, path => lists:duplicate(200, $a)})),
    show(socket:bind(Q1, #{family => local, path => lists:duplicate(300, $a)}));
f(files) ->
    File = "f_" ++ os:getpid(),
    Data = binary:copy(<<"0123456789">>, 100000),
    ok = file:write_file(File, Data),
    {A, B} = pair(inet),
    {ok, F} = file:open(File, [raw, read, binary]),
    show(socket:sendfile(A, F, 0, 10)), show(socket:recv(B, 10)),
    show(socket:sendfile(A, F, 5, 7)), show(socket:recv(B, 7)),
    Me = self(),
    spawn_link(fun() -> Me ! {got, socket:recv(B, byte_size(Data))} end),
    show(socket:sendfile(A, F)),
    show(receive {got, {ok, All}} -> All =:= Data after 5000 -> timeout end),
    show(socket:sendfile(A, F, 2000000, 10)),
    show(socket:sendfile(A, F, 0, 3, 0)), show(socket:recv(B, 3, 1000)),
    file:close(F), show(socket:sendfile(A, F, 0, 10)),
    #{counters := C} = socket:info(A), show([K || K <- [sendfile, sendfile_byte, sendfile_tries, sendfile_max], maps:get(K, C, 0) > 0]),
    file:delete(File);
f(descriptors) ->
    {A, B} = pair(inet),
    {ok, Fd} = socket:getopt(B, {otp, fd}),
    {ok, D} = socket:open(Fd, #{}),
    I = socket:info(D), show({maps:with([domain, type, protocol], I), element(1, maps:get(ctype, I))}),
    socket:send(A, "dup"), show(socket:recv(D, 3)),
    show(socket:close(D)), socket:send(A, "own"), show(socket:recv(B, 3)),
    {ok, Same} = socket:open(Fd, #{dup => false}),
    show(maps:get(ctype, socket:info(Same))), show(socket:close(Same)),
    socket:send(A, "yes"), show(socket:recv(B, 3)),
    {ok, U} = gen_udp:open(0), {ok, UFd} = inet:getfd(U), {ok, Us} = socket:open(UFd),
    show(maps:with([domain, type, protocol], socket:info(Us)));
f(ends) ->
    {A, B} = pair(inet),
    Me = self(),
    Owner = spawn(fun() -> receive {take, S} -> Me ! taken, receive stop -> S end end end),
    show(socket:setopt(A, {otp, controlling_process}, Owner)), show(socket:getopt(A, {otp, controlling_process})),
    show(socket:setopt(A, {otp, controlling_process}, Me)), show(socket:setopt(A, {otp, meta}, x)),
    Owner ! {take, A}, receive taken -> ok end,
    exit(Owner, kill), show(socket:recv(B, 0, 1000)), show(socket:send(A, "x")),
    M = socket:monitor(B), show(socket:cancel_monitor(M)),
    M2 = socket:monitor(B), socket:close(B),
    show(receive {'DOWN', M2, socket, _, Why} -> Why after 1000 -> late end),
    {C, D} = pair(inet),
    Dead = spawn(fun() -> ok end), settle(),
    show(socket:setopt(C, {otp, controlling_process}, Dead)), show(socket:send(C, "x")), show(socket:recv(D, 0, 1000)),
    {E, F} = pair(inet),
    R = spawn_link(fun() -> Me ! {self(), socket:recv(F)} end), settle(),
    show(socket:close(F)), show(receive {R, Res} -> Res after 1000 -> late end),
    show(socket:send(E, "x")), settle(), show(socket:send(E, "y")),
    {G, H} = pair(inet),
    socket:setopt(G, {socket, linger}, #{onoff => true, linger => 0}), socket:close(G), settle(),
    show(socket:recv(H, 0, 1000)),
    show(length([S || S <- socket:which_sockets(fun(#{owner := O}) -> O =:= Me end), S =/= x]) >= 1);
f(backend_tcp) ->
    [begin
         show(Opts),
         {ok, L} = gen_tcp:listen(0, [{inet_backend, socket}, {active, false}, {reuseaddr, true} | Opts]),
         {ok, Port} = inet:port(L),
         {ok, C} = gen_tcp:connect({127, 0, 0, 1}, Port, [{inet_backend, socket}, {active, false} | Opts]),
         {ok, S} = gen_tcp:accept(L, 1000),
         show(gen_tcp:send(C, "hello\r\n")), show(gen_tcp:recv(S, 0, 1000)),
         ok = inet:setopts(S, [{active, once}]), gen_tcp:send(C, "two\n"), show(next()),
         ok = inet:setopts(S, [{active, true}]), gen_tcp:send(C, "three\n"), show(next()),
         ok = inet:setopts(S, [{active, 2}]), gen_tcp:send(C, "4\n"), show(next()), gen_tcp:send(C, "5\n"), show(next()), show(next()),
         show(element(1, inet:peername(S))), show(inet:getopts(S, [packet, active, mode])),
         show([element(1, X) || X <- element(2, inet:getstat(S))]),
         gen_tcp:close(C), show(gen_tcp:recv(S, 0, 1000)), gen_tcp:close(S), gen_tcp:close(L)
     end || Opts <- [[list], [binary, {packet, 2}], [binary, {packet, line}], [binary, {packet, 4}, {nodelay, true}]]],
    show(gen_tcp:connect({127, 0, 0, 1}, element(2, free_port()), [{inet_backend, socket}])),
    show(inet:i() =:= ok);
f(limits) ->
    %% Options of the drivers that are only asked for: each half of a pair moves the other.
    [begin
         {ok, L} = gen_tcp:listen(0, [{low_msgq_watermark, V}]), {ok, P} = inet:port(L),
         {ok, C} = gen_tcp:connect({127, 0, 0, 1}, P, [{low_msgq_watermark, V}]), {ok, A} = gen_tcp:accept(L),
         show([inet:getopts(S, [low_msgq_watermark, high_msgq_watermark]) || S <- [L, C, A]])
     end || V <- [2048, 4096, 10000]],
    {ok, S} = gen_tcp:listen(0, []),
    [show({O, inet:setopts(S, [O]), inet:getopts(S, [low_msgq_watermark, high_msgq_watermark])}) ||
        O <- [{low_msgq_watermark, 2048}, {low_msgq_watermark, 10000}, {high_msgq_watermark, 5000}, {high_msgq_watermark, 1},
              {low_msgq_watermark, 0}, {low_msgq_watermark, 100}]],
    {ok, U} = gen_udp:open(0),
    show(inet:getopts(U, [netns])),
    [show({inet:setopts(U, [{netns, N}]), inet:getopts(U, [netns])}) || N <- ["", "/proc/self/ns/net", ""]],
    show(gen_udp:open(0, [{netns, "/nowhere"}])), show(gen_udp:open(0, [{netns, ""}]));
f(backend_udp) ->
    {ok, A} = gen_udp:open(0, [{inet_backend, socket}, binary]), {ok, B} = gen_udp:open(0, [{inet_backend, socket}, {active, false}]),
    {ok, Pb} = inet:port(B), {ok, Pa} = inet:port(A),
    show(gen_udp:send(A, {127, 0, 0, 1}, Pb, "there")),
    {ok, {Ip, From, D}} = gen_udp:recv(B, 0, 1000), show({Ip, From =:= Pa, D}),
    show(gen_udp:send(B, {127, 0, 0, 1}, Pa, "back")),
    show(receive {udp, _, I, P, X} -> {I, P =:= Pb, X} after 1000 -> late end),
    show(gen_udp:recv(B, 0, 10)), show(gen_udp:close(A)), show(gen_udp:close(B)).

addr(inet, P) -> #{family => inet, port => P, addr => loopback};
addr(inet6, P) -> #{family => inet6, port => P, addr => loopback}.

listener(F) ->
    {ok, L} = socket:open(F, stream, tcp),
    ok = socket:bind(L, addr(F, 0)), ok = socket:listen(L),
    {ok, L}.

pair(F) ->
    {ok, L} = listener(F),
    {ok, #{port := P}} = socket:sockname(L),
    {ok, C} = socket:open(F, stream, tcp),
    ok = socket:connect(C, addr(F, P)),
    {ok, S} = socket:accept(L),
    socket:close(L),
    {C, S}.

free_port() ->
    {ok, L} = listener(inet), {ok, #{port := P}} = socket:sockname(L), socket:close(L), {ok, P}.

settle() -> timer:sleep(30).
flush() -> receive _ -> flush() after 0 -> ok end.
next() -> receive M -> M after 1000 -> none end.

message_within(S, H, T) ->
    receive
        {'$socket', S, Tag, H} -> Tag;
        {'$socket', S, Tag, {H, Why}} -> {Tag, Why}
    after T -> none
    end.

drain(S) -> drain(S, 0).
drain(S, N) ->
    case socket:recv(S, 0, 500) of
        {ok, D} -> drain(S, N + byte_size(D));
        {error, Why} -> {N > 0, Why}
    end.

%% More buffers than one call of the system takes.
many_parts(A, B) ->
    drain(B),
    Parts = [<<N:16>> || N <- lists:seq(1, 3000)],
    Whole = iolist_to_binary(Parts),
    Me = self(),
    spawn_link(fun() -> Me ! {parts, socket:sendmsg(A, #{iov => Parts})} end),
    {ok, Got} = socket:recv(B, 6000, 5000),
    {receive {parts, R} -> R after 1000 -> late end, Got =:= Whole}.

%% A message without what differs from run to run.
seen({ok, M}) ->
    M1 = case M of #{addr := A} -> M#{addr := maps:remove(port, A)}; _ -> M end,
    case M1 of
        #{ctrl := C} -> M1#{ctrl := [seen_ctrl(X) || X <- C]};
        _ -> M1
    end;
seen(Other) -> Other.
seen_ctrl(#{type := timestamp, value := V} = C) -> (maps:remove(data, C))#{value := lists:sort(maps:keys(V))};
seen_ctrl(#{type := T, value := #{port := _} = V} = C) when T =:= origdstaddr -> (maps:remove(data, C))#{value := maps:remove(port, V)};
seen_ctrl(#{type := recverr} = C) -> maps:remove(data, C);
seen_ctrl(C) -> C.

%% ---- many at once -----------------------------------------------------------------------------------------------

%% Echo servers with several acceptors; clients that send, wait, give up, close in the midst and are killed; datagrams
%% between all. Everything that was sent and not given up comes back, and no socket is left.
stress(Seed) ->
    rand:seed(exsss, Seed),
    Before = maps:get(num_sockets, maps:get(counters, socket:info())),
    {ok, L} = listener(inet),
    {ok, #{port := P}} = socket:sockname(L),
    Me = self(),
    Acceptors = [spawn(fun() -> acceptor(L) end) || _ <- lists:seq(1, 4)],
    Clients = [spawn_monitor(fun() -> rand:seed(exsss, Seed + N), client(P, 20), Me ! {self(), ok} end) || N <- lists:seq(1, 40)],
    Killed = [spawn_monitor(fun() -> rand:seed(exsss, -Seed - N), client(P, 1000000) end) || N <- lists:seq(1, 20)],
    [begin timer:sleep(rand:uniform(20)), exit(K, kill) end || {K, _} <- Killed],
    Bad = [{C, Why} || {C, M} <- Clients, Why <- [receive {'DOWN', M, _, _, W} -> W end], Why =/= normal],
    [receive {'DOWN', M, _, _, _} -> ok end || {_, M} <- Killed],
    socket:close(L),
    [exit(A, kill) || A <- Acceptors],
    Left = left(Before, 200),
    case {Bad, Left} of
        {[], 0} -> io:format("ok~n");
        _ -> io:format("failed: ~p, ~p sockets left~n", [Bad, Left])
    end,
    halt(0).

left(Before, Tries) ->
    erlang:garbage_collect(),
    case maps:get(num_sockets, maps:get(counters, socket:info())) - Before of
        N when N =< 0; Tries =:= 0 -> N;
        _ -> timer:sleep(50), left(Before, Tries - 1)
    end.

acceptor(L) ->
    case socket:accept(L) of
        {ok, S} ->
            Pid = spawn(fun() -> receive go -> echo(S) end end),
            socket:setopt(S, {otp, controlling_process}, Pid),
            Pid ! go,
            acceptor(L);
        {error, _} -> ok
    end.

echo(S) ->
    case socket:recv(S) of
        {ok, D} -> case socket:send(S, D) of ok -> echo(S); {error, _} -> socket:close(S) end;
        {error, _} -> socket:close(S)
    end.

client(_, 0) -> ok;
client(P, N) ->
    {ok, S} = socket:open(inet, stream, tcp),
    ok = socket:connect(S, addr(inet, P)),
    case rand:uniform(6) of
        1 -> socket:close(S);
        2 -> {select, I} = socket:recv(S, 0, nowait), _ = socket:cancel(S, I), round_trip(S), socket:close(S);
        3 -> {error, timeout} = socket:recv(S, 5, rand:uniform(3)), round_trip(S), socket:close(S);
        4 -> socket:send(S, "abandoned"), socket:setopt(S, {socket, linger}, #{onoff => true, linger => 0}), socket:close(S);
        5 -> Me = self(), R = spawn(fun() -> Me ! {self(), socket:recv(S)} end), erlang:yield(),
             socket:close(S), receive {R, {error, closed}} -> ok end;
        6 -> [round_trip(S) || _ <- [1, 2, 3]], socket:close(S)
    end,
    client(P, N - 1).

round_trip(S) ->
    D = binary:copy(<<(rand:uniform(255))>>, rand:uniform(20000)),
    Me = self(),
    W = spawn(fun() -> Me ! {self(), socket:send(S, D)} end),
    {ok, D} = socket:recv(S, byte_size(D)),
    receive {W, ok} -> ok end.
