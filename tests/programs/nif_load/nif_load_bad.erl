-module(nif_load_bad).
-export([load/2, f/1]).
load(Library, Info) -> erlang:load_nif(Library, Info).
f(_) -> erlang.
