%% +X is X + 0, which makes 0.0 of -0.0; the function erlang:'+'/1 gives back what it got. It was X both ways.
-module(float_unary_plus).
-export([main/1]).

main(_) ->
    Values = [id(0.0) * id(-1.0), 0.0, 1.5, -7, 1 bsl 70, a, [], <<1>>],
    [io:format("~w: ~w~n", [V, [attempt(F, V) || F <- [fun known/1, fun plus/1, fun twice/1, fun guard/1, fun called/1, fun applied/1]]])
     || V <- Values].

attempt(F, V) -> try F(V) catch C:R -> {C, R} end.
id(X) -> X.
known(X) when is_float(X) -> +X;
known(_) -> no.
plus(X) -> +X.
twice(X) -> + + X.
guard(X) when +X == X, is_integer(X) orelse 1 / X > 0 -> {yes, +X};
guard(_) -> no.
called(X) -> apply(erlang, id('+'), [X]).
applied(X) -> (fun erlang:'+'/1)(X).
