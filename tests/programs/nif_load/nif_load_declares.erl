-module(nif_load_declares).
-export([load/2, f/1, g/0]).
-nifs([f/1]).
load(Library, Info) -> erlang:load_nif(Library, Info).
f(X) -> {X, X}.
g() -> erlang.
