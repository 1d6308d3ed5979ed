%% Code with a native library is loaded anew, purged and deleted: load, upgrade and unload are called
%% when OTP calls them, private data is handed on, resources outlive the code that made them.
-module(nif_upgrade).
-export([start/0]).

-define(M, nif_upgrade_module).

start() ->
    os:putenv("NIF_LOG", "nif_upgrade." ++ os:getpid() ++ ".log"),
    false = code:purge(?M),
    log("refused load", catch load("1", 13)),
    log("load", load("1", 0)),
    show(?M:version()),
    A = ?M:create(1),
    show(?M:read(A)),
    log("again", ?M:load("1", 0)),
    Pid = spawn(fun ?M:wait/0),
    Pid ! {self(), version},
    show(receive V1 -> V1 end),
    log("refused upgrade", load("2", 14)),
    show(?M:version()),
    log("no upgrade", load("3", 0)),
    show(?M:version()),
    log("upgrade", load("2", 0)),
    show({?M:version(), ?M:read(A)}),
    Pid ! {self(), version},
    show(receive V2 -> V2 end),
    log("from old code", ok),
    B = ?M:create(2),
    Pid ! stop,
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    log("purge", code:purge(?M)),
    show({?M:version(), ?M:read(A), ?M:read(B)}),
    drop(A),
    erlang:garbage_collect(),
    %% OTP calls destructors some time later.
    wait_for_log(1000),
    log("collected", ok),
    %% A version without a library, then one that begins anew.
    log("none", load("none", 0)),
    show({?M:version(), ?M:load("1", 0)}),
    log("after it", ok),
    drop(B),
    show(code:purge(?M)),
    erlang:garbage_collect(),
    wait(40),
    log("purged", ok),
    show(?M:version()),
    show({code:delete(?M), code:purge(?M)}),
    wait(40),
    log("deleted", ok).

drop(_) -> ok.
wait_for_log(0) -> ok;
wait_for_log(N) ->
    case filelib:file_size(os:getenv("NIF_LOG")) of
        0 -> receive after 5 -> wait_for_log(N - 1) end;
        _ -> ok
    end.
wait(0) -> ok;
wait(N) -> receive after 5 -> wait(N - 1) end.

load(Version, Info) ->
    os:putenv("NIF_VERSION", Version),
    os:putenv("NIF_INFO", integer_to_list(Info)),
    {ok, Beam} = file:read_file(filename:join(os:getenv("PROGRAM_DIR"), "nif_upgrade_module.beam")),
    code:purge(?M),
    case code:load_binary(?M, "nif_upgrade_module.erl", Beam) of
        {module, ?M} -> ok;
        Other -> Other
    end.

show(X) -> io:format("    ~p~n", [X]).
log(What, Result) ->
    Log = os:getenv("NIF_LOG"),
    Text = case file:read_file(Log) of {ok, Bytes} -> Bytes; {error, enoent} -> "" end,
    file:delete(Log),
    io:format("~s: ~p~n    ~s~n", [What, Result, Text]).
