%% Operators and comparisons whose operands are known to be floats: boxed and immediate values, results that
%% are not finite in guards and bodies, integers beside floats.
-module(float_typed_operands).
-export([main/1]).

main(_) ->
    Fs = [0.0, 1.0, -1.0, 4.0, 0.1, 2.5e-320, 1.0e-300, -1.0e300, 1.7976931348623157e308, 9007199254740992.0,
          9007199254740994.0, 1.0e77, 3.0e-77],
    [io:format("~w ~w ~w ~w ~w ~w~n", [X, Y, sum(X, Y), guards(X, Y), [try F(X, Y) catch error:E -> E end
                                      || F <- [fun add/2, fun sub/2, fun mul/2]], tests(X, Y)]) || X <- Fs, Y <- Fs],
    io:format("~w~n", [[{X, constants(X)} || X <- Fs]]),
    io:format("~w~n", [[mixed(X) || X <- Fs ++ [a, 1, 1 bsl 70, [], {}]]]).

sum(X, Y) when is_float(X), is_float(Y), X + Y > 4.0 -> large;
sum(X, Y) when is_float(X), is_float(Y), X + Y =< 4.0 -> small;
sum(_, _) -> failed.

guards(X, Y) when is_float(X), is_float(Y), X * Y < 1.0e-300, X * Y > -1.0e-300 -> zero;
guards(X, Y) when is_float(X), is_float(Y), X - Y /= 0.0, X * Y >= 1.0 -> one;
guards(X, Y) when is_float(X), is_float(Y), X * Y < 0 -> negative;
guards(X, Y) when is_float(X), is_float(Y), X * Y >= 0 -> positive;
guards(_, _) -> failed.

add(X, Y) when is_float(X), is_float(Y) -> {X + Y}.
sub(X, Y) when is_float(X), is_float(Y) -> {X - Y}.
mul(X, Y) when is_float(X), is_float(Y) -> {X * Y}.

tests(X, Y) when is_float(X), is_float(Y) ->
    [if X < Y -> a; true -> b end, if X >= Y -> a; true -> b end, if X == Y -> a; true -> b end,
     if X /= Y -> a; true -> b end, if X > Y -> a; true -> b end, if X =< Y -> a; true -> b end,
     if X =:= Y -> a; true -> b end].

constants(X) when is_float(X) ->
    [if X < 1 -> a; true -> b end, if X >= 1 -> a; true -> b end, if X == 1 -> a; true -> b end,
     if X /= 1 -> a; true -> b end, if 1 < X -> a; true -> b end, if 0 >= X -> a; true -> b end,
     if X == 9007199254740992 -> a; true -> b end, if X == 9007199254740993 -> a; true -> b end,
     if X > 9007199254740993 -> a; true -> b end, if X < 576460752303423489 -> a; true -> b end,
     if X < -5 -> a; true -> b end, if X < foo -> a; true -> b end, if X == 4.0 -> a; true -> b end].

mixed(X) when X * 2.0 > 1.0, X < 1.0e10 -> {between, X};
mixed(X) when X > 0.5 -> {above, X};
mixed(_) -> other.
