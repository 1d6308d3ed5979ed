%% Is loaded in the middle of generated trace programs, for patterns that wait for a module.
-module(trace_late).
-export([one/1, two/2]).

one(X) -> hidden(X).
two(0, X) -> [X];
two(N, X) -> [hidden(X) | ?MODULE:two(N - 1, X)].
hidden(X) -> {X}.
