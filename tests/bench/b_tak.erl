%% Calls with three arguments and comparisons.
-module(b_tak).
-define(REPEAT, 50).
-include("bench.hrl").

once() -> tak(24, 16, 8).

tak(X, Y, Z) when Y >= X -> Z;
tak(X, Y, Z) -> tak(tak(X - 1, Y, Z), tak(Y - 1, Z, X), tak(Z - 1, X, Y)).
