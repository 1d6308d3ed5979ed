-module(nif_load_old).
-export([load/2, f/1, h/2]).
load(Library, Info) -> erlang:load_nif(Library, Info).
f(_) -> erlang.
h(_, _) -> erlang.
