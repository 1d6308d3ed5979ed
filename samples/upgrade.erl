%% Upgrades a server while its clients use it: version 1 to 2 to 3 and round again, a hundred times.
%%
%%     minivm run upgrade.beam             100 upgrades, 8 clients
%%     minivm run upgrade.beam 1000 20     as many as you like
%%
%% Look at how the server (upgrade_kv.erl) gets into its new code and takes its data along, and at what the
%% clients see: nothing. No request is lost or answered wrongly, and none waits for a load.
%% What differs from run to run goes to standard error.
-module(upgrade).
-export([main/1]).

main([]) -> main(["100", "8"]);
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
client(Server, Id, Requests, Lost, Wrong, Worst) ->
    Key = {Id, Requests rem 10},
    {T1, R1} = request(Server, {put, Key, Requests}),
    {T2, R2} = request(Server, {get, Key}),
    NewLost = Lost + length([R || R <- [R1, R2], R =:= lost]),
    NewWrong = Wrong + length([R || {R, Right} <- [{R1, ok}, {R2, Requests}], R =/= lost, R =/= Right]),
    NewWorst = lists:max([Worst, T1, T2]),
    receive
        stop -> {2 * (Requests + 1), NewLost, NewWrong, NewWorst}
    after 0 -> client(Server, Id, Requests + 1, NewLost, NewWrong, NewWorst)
    end.

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
