%% Calls through funs, external funs, apply and computed module names.
-module(b_dynamic_calls).
-export([inc/1, add/2]).
-define(REPEAT, 50).
-include("bench.hrl").

once() ->
    F = fun(X) -> X + 1 end, G = fun ?MODULE:inc/1,
    {funs(200000, F, 0), funs(200000, G, 0), applies(100000, ?MODULE, 0),
     modules(100000, ?MODULE, inc, 0), exported(200000, 0)}.

inc(X) -> X + 1.
add(X, Y) -> X + Y.

funs(0, _, X) -> X;
funs(N, F, X) -> funs(N - 1, F, F(X)).
applies(0, _, X) -> X;
applies(N, M, X) -> applies(N - 1, M, apply(M, add, [X, N])).
modules(0, _, _, X) -> X;
modules(N, M, F, X) -> modules(N - 1, M, F, M:F(X)).
exported(0, X) -> X;
exported(N, X) -> exported(N - 1, ?MODULE:add(X, 1)).
