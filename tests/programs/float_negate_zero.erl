%% Up to OTP 26 the negation of what the compiler knows to be a float is 0.0 - X, which is never -0.0.
-module(float_negate_zero).
-export([main/1, unknown/1]).

main(_) ->
    Floats = [id(F) || F <- [0.0, 1.5, -1.5, 1.0e-320, -1.7976931348623157e308]] ++ [id(0.0) * id(-1.0)],
    [io:format("~w: ~w~n", [F, [known(F), product(F), ?MODULE:unknown(F), twice(F), in_sum(F, 0.0)]]) || F <- Floats].

id(X) -> X.
known(X) when is_float(X) -> -X.
product(X) -> -(X * 0.5).
unknown(X) -> -X.
twice(X) when is_float(X) -> -(-(X + 0.0)).
in_sum(X, Y) when is_float(X), is_float(Y) -> Z = -X, {Z + Y, Z * 1.0, -Y}.
