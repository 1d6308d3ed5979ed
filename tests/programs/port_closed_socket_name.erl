%% A closed socket with unsent data still writes, but gets no name.
-module(port_closed_socket_name).
-export([main/1]).

main(_) ->
    {ok, L} = gen_tcp:listen(0, [{active, false}, {ip, {127, 0, 0, 1}}, {recbuf, 4096}]),
    {ok, N} = inet:port(L),
    {ok, A} = gen_tcp:connect({127, 0, 0, 1}, N, [{active, false}, {sndbuf, 4096}, {high_watermark, 1 bsl 27}]),
    {ok, B} = gen_tcp:accept(L),
    ok = gen_tcp:send(A, binary:copy(<<1>>, 10 bsl 20)),
    true = port_close(A),
    io:format("~p~n", [try register(a_socket, A) catch error:Why -> Why end]),
    io:format("~p~n", [whereis(a_socket)]),
    gen_tcp:close(B),
    gen_tcp:close(L).
