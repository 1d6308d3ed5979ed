%% A module that calls of call_harness load, trace, replace and delete; a tracer, too.
-module(call_victim).
-export([one/1, two/2, enabled/3, trace/5]).

one(X) -> {one, X, fun(Y) -> {X, Y} end}.
two(A, B) -> "a literal" ++ [A, B].
enabled(_, _, _) -> trace.
trace(_, _, _, _, _) -> ok.
