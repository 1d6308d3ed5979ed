-module(nif_dirty_purge_module).
-export([block/1, waiting/0, release/1]).
-on_load(load/0).
-nifs([block/1, waiting/0, release/1]).

load() -> erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_dirty_purge_lib"), 0).

block(_) -> erlang:nif_error(no).
waiting() -> erlang:nif_error(no).
release(_) -> erlang:nif_error(no).
