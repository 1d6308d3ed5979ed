-module(nif_upgrade_module).
-export([version/0, create/1, read/1, wait/0, load/2]).
-on_load(on_load/0).
-nifs([version/0, create/1, read/1]).

%% What to load is told by the environment, so that one file is every version.
on_load() ->
    case os:getenv("NIF_VERSION") of
        "none" -> ok;
        Version -> load(Version, list_to_integer(os:getenv("NIF_INFO")))
    end.

load(Version, Info) ->
    erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_upgrade_" ++ Version), Info).

version() -> erlang_version.
create(_) -> none.
read(_) -> none.
wait() -> receive {From, version} -> From ! version(), wait(); stop -> ok end.
