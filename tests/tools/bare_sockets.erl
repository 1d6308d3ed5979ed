%% Sockets of a program that has no kernel yet: which is started when something of it is looked for.
-module(bare_sockets).
-export([main/1]).

main(_) ->
    {ok, L} = gen_tcp:listen(0, [binary, {active, false}]),
    {ok, P} = inet:port(L),
    {ok, C} = gen_tcp:connect("localhost", P, [binary]),
    {ok, S} = gen_tcp:accept(L),
    ok = gen_tcp:send(S, "hi"),
    receive {tcp, C, <<"hi">>} -> ok end,
    {ok, _} = gen_udp:open(0),
    {ok, L2} = gen_tcp:listen(0, [{inet_backend, socket}]),
    ok = gen_tcp:close(L2),
    {ok, S2} = socket:open(inet, stream, tcp),
    true = lists:member(S2, socket:which_sockets()),
    {ok, _} = net:gethostname(),
    io:format("ok~n").
