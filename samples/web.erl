%% A web server with TLS that is upgraded and traced while clients ask it.
%%
%%     minivm run web.beam                  20 upgrades under the requests of 8 clients
%%     minivm run web.beam 200 50           as many as you like
%%
%% Or you ask, trace and upgrade it yourself, from other terminals:
%%
%%     minivm run --listen DIR/web web.beam serve 8443
%%     curl --insecure https://localhost:8443/hello
%%     minivm attach DIR/web                and there  :trace web_page:answer/1 return
%%     minivm load DIR/web v2/web_page.beam
%%
%% Look at who holds what: a process a connection, which stays in this module, and the answers in web_page.erl, which each
%% request calls by its full name, so that the next one has the next version. No connection is closed for it.
%% Without the application ssl (Debian package erlang-ssl) it does the same without TLS, and says so.
%% What differs from run to run goes to standard error.
-module(web).
-export([main/1]).

-define(OPTIONS, [binary, {packet, http_bin}, {active, false}, {nodelay, true}, {reuseaddr, true}, {ip, loopback}]).
-define(WAIT_MS, 30000).

main([]) -> main(["20", "8"]);
main(["serve", Port]) -> serve(list_to_integer(Port));
main([Upgrades, Clients]) -> run(list_to_integer(Upgrades), list_to_integer(Clients)).

serve(Port) ->
    Server = listen(Port),
    io:format("version ~b of the pages at ~s://localhost:~b~n", [web_page:version(), scheme(Server), port(Server)]),
    receive after infinity -> ok end.

run(Upgrades, Clients) ->
    Server = listen(0),
    Answered = counters:new(1, [write_concurrency]),
    persistent_term:put(?MODULE, Answered),
    %% Each call is counted from here on, in code that runs.
    _ = erlang:trace_pattern({?MODULE, reply, 3}, true, [local, call_count]),
    Pids = [spawn_monitor(fun() -> exit(client(connect(Server), 0, 0, 0)) end) || _ <- lists:seq(1, Clients)],
    Dir = filename:dirname(code:which(?MODULE)),
    [upgrade(filename:join([Dir, "v" ++ integer_to_list(N rem 2 + 1), "web_page"]), N rem 2 + 1) || N <- lists:seq(1, Upgrades)],
    [Pid ! stop || {Pid, _} <- Pids],
    Results = [receive {'DOWN', Ref, process, _, Result} -> Result end || {_, Ref} <- Pids],
    {Asked, Wrong, Worst} = lists:foldl(fun({A, W, T}, {As, Ws, Ts}) -> {A + As, W + Ws, max(T, Ts)} end, {0, 0, 0}, Results),
    {call_count, Counted} = erlang:trace_info({?MODULE, reply, 3}, call_count),
    io:format("~s, ~b upgrades under ~b clients: ~b answers lost, ~b wrong, ~b not in the trace~n",
              [scheme(Server), Upgrades, Clients, Asked - counters:get(Answered, 1), Wrong, Asked - Counted]),
    io:format(standard_error, "~b requests, worst latency ~.1f ms~n", [Asked, Worst / 1000]).

%% Loads another version, which the next request finds, and waits a little for some.
upgrade(File, Version) ->
    {module, web_page} = code:load_abs(File),
    Version = web_page:version(),
    receive after 20 -> ok end,
    true = code:soft_purge(web_page).  % nobody stays in an answer

%% ---- the server ---------------------------------------------------------------------------------------------------------

%% {Module, Socket, what a client needs}: Module is ssl or gen_tcp.
listen(Port) ->
    case application:ensure_all_started(ssl) of
        {ok, _} ->
            #{server_config := Config, client_config := ClientConfig} = certificates(),
            {ok, L} = ssl:listen(Port, ?OPTIONS ++ Config),
            accepting({ssl, L, ClientConfig});
        {error, _} ->
            io:format(standard_error, "no TLS: there is no application ssl~n", []),
            {ok, L} = gen_tcp:listen(Port, ?OPTIONS),
            accepting({gen_tcp, L, []})
    end.

%% Made for this run. Who trusts them is whoever has client_config.
certificates() ->
    How = [{digest, sha256}, {key, {namedCurve, secp256r1}}],
    Chain = #{root => How, intermediates => [], peer => How},
    public_key:pkix_test_data(#{server_chain => Chain, client_chain => Chain}).

accepting(Server) ->
    _ = spawn_link(fun() -> accept(Server) end),
    Server.

accept({gen_tcp, L, _} = Server) ->
    {ok, Socket} = gen_tcp:accept(L),
    ok = gen_tcp:controlling_process(Socket, spawn(fun() -> connection(gen_tcp, Socket) end)),
    accept(Server);
accept({ssl, L, _} = Server) ->
    {ok, Half} = ssl:transport_accept(L),
    Pid = spawn(fun() ->
        receive go -> ok end,
        case ssl:handshake(Half, ?WAIT_MS) of
            {ok, Socket} -> connection(ssl, Socket);
            {error, _} -> ok  % no client of ours, and no reason to end
        end
    end),
    ok = ssl:controlling_process(Half, Pid),
    Pid ! go,
    accept(Server).

%% One request after the other until the client has had enough.
connection(Module, Socket) ->
    case Module:recv(Socket, 0) of
        {ok, {http_request, Method, {abs_path, Path}, _}} ->
            case headers(Module, Socket) of
                ok -> reply(Module, Socket, web_page:answer({Method, Path})), connection(Module, Socket);
                closed -> ok
            end;
        {ok, _} ->
            reply(Module, Socket, {<<"400 Bad Request">>, <<"text/plain">>, <<"What was that?\n">>}),
            Module:close(Socket);
        {error, _} -> Module:close(Socket)
    end.

headers(Module, Socket) ->
    case Module:recv(Socket, 0, ?WAIT_MS) of
        {ok, http_eoh} -> ok;
        {ok, {http_header, _, _, _, _}} -> headers(Module, Socket);
        _ -> Module:close(Socket), closed
    end.

reply(Module, Socket, {Status, Type, Body}) ->
    count(persistent_term:get(?MODULE, none)),
    Module:send(Socket, ["HTTP/1.1 ", Status, "\r\nContent-Type: ", Type, "\r\nContent-Length: ",
                         integer_to_binary(iolist_size(Body)), "\r\n\r\n", Body]).

count(none) -> ok;
count(Counter) -> counters:add(Counter, 1, 1).

%% ---- its clients --------------------------------------------------------------------------------------------------------

connect({Module, _, Config} = Server) ->
    Checked = [O || Module =:= ssl, O <- [{verify, verify_peer}, {server_name_indication, disable}]],  % it has no name
    Options = [binary, {packet, http_bin}, {active, false}, {nodelay, true}] ++ Checked ++ Config,
    {ok, Socket} = Module:connect({127, 0, 0, 1}, port(Server), Options),
    {Module, Socket}.

%% {Requests, wrong answers, the worst time in microseconds}.
client({Module, Socket}, Asked0, Wrong0, Worst0) ->
    Asked = Asked0 + 1,
    Start = erlang:monotonic_time(microsecond),
    ok = Module:send(Socket, ["GET /", integer_to_binary(Asked), " HTTP/1.1\r\nHost: localhost\r\n\r\n"]),
    {ok, {http_response, _, 200, _}} = Module:recv(Socket, 0, ?WAIT_MS),
    Length = content_length(Module, Socket, 0),
    ok = set(Module, Socket, [{packet, raw}]),
    {ok, Body} = Module:recv(Socket, Length, ?WAIT_MS),
    ok = set(Module, Socket, [{packet, http_bin}]),
    Wrong = Wrong0 + case string:split(Body, integer_to_binary(Asked)) of [_, _] -> 0; _ -> 1 end,
    Worst = max(Worst0, erlang:monotonic_time(microsecond) - Start),
    receive
        stop -> {Asked, Wrong, Worst}
    after 0 -> client({Module, Socket}, Asked, Wrong, Worst)
    end.

content_length(Module, Socket, Length) ->
    case Module:recv(Socket, 0, ?WAIT_MS) of
        {ok, {http_header, _, 'Content-Length', _, Value}} -> content_length(Module, Socket, binary_to_integer(Value));
        {ok, {http_header, _, _, _, _}} -> content_length(Module, Socket, Length);
        {ok, http_eoh} -> Length
    end.

%% What the two modules name differently.
set(ssl, Socket, Options) -> ssl:setopts(Socket, Options);
set(gen_tcp, Socket, Options) -> inet:setopts(Socket, Options).

port({ssl, L, _}) -> {ok, {_, Port}} = ssl:sockname(L), Port;
port({gen_tcp, L, _}) -> {ok, Port} = inet:port(L), Port.

scheme({ssl, _, _}) -> "https";
scheme({gen_tcp, _, _}) -> "http".
