%% node() and what else cannot collect, behind a guard whose failure left something on the heap: the
%% arguments stay what they are.
-module(guard_function_keeps_registers).
-export([main/1, f/3]).

main(_) -> [io:format("~p~n", [f(6, X, Y)]) || X <- [ok, <<1:5>>, {1}, [1], 1 bsl 70], Y <- [ok, #{}, 7]].

f(0, A, B) -> [A, B];
f(N, A, B) when A / 1.5 < A, is_map_key(B, #{0 => 0}); node() > A -> {N, A, B};
f(N, A, B) ->
    R = if round(A + 1.0e22) == B -> A; true -> [N band 7] end,
    [id(N) | f(N - 1, R, id(B))].

id(X) -> X.
