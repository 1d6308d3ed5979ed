%% Upgrades a server while its clients use it: version 1 to 2 to 3 and round again, a hundred times.
%%
%%     minivm run upgrade.beam             100 upgrades, 8 clients
%%     minivm run upgrade.beam 1000 20     as many as you like
%%
%% Or you do it, from another terminal, as often as you like:
%%
%%     minivm run --listen DIR/kv upgrade.beam watch
%%     minivm load DIR/kv v2/upgrade_kv.beam
%%
%% Look at how the server (upgrade_kv.erl) gets into its new code and takes its data along, and at what the
%% clients see: nothing. No request is lost or answered wrongly, and none waits for a load.
%% What differs from run to run goes to standard error.
-module(upgrade).
-export([main/1]).

main([]) -> main(["100", "8"]);
main(["watch"]) -> watch(8);
main([Upgrades]) -> main([Upgrades, "8"]);
main([Upgrades, Clients]) -> run(list_to_integer(Upgrades), list_to_integer(Clients)).

run(Upgrades, Clients) ->
    Server = upgrade_kv:start(),
    Pids = [spawn_monitor(fun() -> exit(client(Server, Id, 0, 0, 0, 0)) end)
            || Id <- lists:seq(1, Clients)],
    Dir = filename:dirname(code:which(?MODULE)),
    Files = {filename:join([Dir, "v1", "upgrade_kv"]), filename:join([Dir, "v2", "upgrade_kv"]),
             filename:join([Dir, "v3", "upgrade_kv"])},
    Times = [upgrade(Server, element(N rem 3 + 1, Files), N rem 3 + 1) || N <- lists:seq(1, Upgrades)],
    [Pid ! stop || {Pid, _} <- Pids],
    Results = [receive {'DOWN', Ref, process, _, Result} -> Result end || {_, Ref} <- Pids],
    {Requests, Lost, Wrong, Worst} =
        lists:foldl(fun({R, L, W, T}, {Rs, Ls, Ws, Ts}) -> {R + Rs, L + Ls, W + Ws, max(T, Ts)} end,
                    {0, 0, 0, 0}, Results),
    io:format("~b upgrades with ~b clients: ~b replies lost, ~b wrong~n", [Upgrades, Clients, Lost, Wrong]),
    io:format(standard_error, "~b requests, worst latency ~.1f ms, worst upgrade ~.1f ms~n",
              [Requests, Worst / 1000, lists:max([0 | Times]) / 1000]).

%% Whoever loads another version from outside finds the server in it a moment later.
watch(Clients) ->
    Server = upgrade_kv:start(),
    Seen = counters:new(4, []),
    [spawn_link(fun() -> watched(Server, Id, 0, Seen) end) || Id <- lists:seq(1, Clients)],
    io:format("version ~b serves ~b clients~n", [upgrade_kv:version(), Clients]),
    watch(Server, upgrade_kv:version(), Seen).

watch(Server, Version, Seen) ->
    receive after 50 -> ok end,
    case upgrade_kv:version() of
        Version -> watch(Server, Version, Seen);
        New ->
            Ref = make_ref(),
            Server ! {upgrade, self(), Ref},
            receive {Ref, {Version, New}} -> ok end,
            [Requests, Lost, Wrong, Worst] = [counters:get(Seen, N) || N <- [1, 2, 3, 4]],
            io:format("version ~b: ~b requests so far, ~b lost, ~b wrong, worst latency ~.1f ms~n",
                      [New, Requests, Lost, Wrong, Worst / 1000]),
            watch(Server, New, Seen)
    end.

watched(Server, Id, N, Seen) ->
    {2, Lost, Wrong, Worst} = client_once(Server, Id, N),
    counters:add(Seen, 1, 2),
    counters:add(Seen, 2, Lost),
    counters:add(Seen, 3, Wrong),
    %% Two clients that both find a worse one may lose a little of it.
    Worst > counters:get(Seen, 4) andalso counters:put(Seen, 4, Worst),
    watched(Server, Id, N + 1, Seen).

%% Loads another version and asks the server to go there. Microseconds.
upgrade(Server, File, Version) ->
    Start = now_us(),
    {module, upgrade_kv} = code:load_abs(File),
    Version = upgrade_kv:version(),
    Ref = make_ref(),
    Server ! {upgrade, self(), Ref},
    receive {Ref, {_Old, Version}} -> ok end,
    %% Nobody is in the old version any more: a soft purge kills nobody and fails if that is not so.
    true = code:soft_purge(upgrade_kv),
    now_us() - Start.

%% Writes and reads keys of its own, so it knows what each reply has to be.
client(Server, Id, N, Lost0, Wrong0, Worst0) ->
    {2, L, W, T} = client_once(Server, Id, N),
    {Lost, Wrong, Worst} = {Lost0 + L, Wrong0 + W, max(Worst0, T)},
    receive
        stop -> {2 * (N + 1), Lost, Wrong, Worst}
    after 0 -> client(Server, Id, N + 1, Lost, Wrong, Worst)
    end.

%% {Requests, Lost, Wrong, Worst latency}
client_once(Server, Id, N) ->
    Key = {Id, N rem 10},
    {T1, R1} = request(Server, {put, Key, N}),
    {T2, R2} = request(Server, {get, Key}),
    {2, length([R || R <- [R1, R2], R =:= lost]),
     length([R || {R, Right} <- [{R1, ok}, {R2, N}], R =/= lost, R =/= Right]), max(T1, T2)}.

request(Server, Request) ->
    Ref = make_ref(),
    Start = now_us(),
    Server ! case Request of
                 {put, Key, Value} -> {put, self(), Ref, Key, Value};
                 {get, Key} -> {get, self(), Ref, Key}
             end,
    receive
        {Ref, Reply} -> {now_us() - Start, Reply}
    after 10000 -> {now_us() - Start, lost}
    end.

now_us() -> erlang:monotonic_time(microsecond).
