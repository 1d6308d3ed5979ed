%% The total order over all types and inside each of them.
-module(order_all_types).
-export([main/1, id/1]).

main(_) ->
    Classes = [-1.0e300, -(1 bsl 70), -5, -5.0e-324, 0, 0.5, 1, 2.0, 1 bsl 59, 1 bsl 60, 1 bsl 70,
               1.0e300,
               '', a, aa, ab, b, 'Z', 'å',
               make_ref(), fun lists:map/2, self(),
               {}, {a}, {b}, {1, 2}, {1, 3}, {0, 0, 0},
               #{}, #{a => 1}, #{a => 2}, #{b => 0}, #{1 => a, 2 => b}, #{1.0 => z, 2 => b},
               [], [a], [a, b], [a | b], [b], "abc", [[]],
               <<>>, <<0>>, <<0:1>>, <<1:1>>, <<"a">>, <<"ab">>, <<"b">>, <<255, 1:3>>],
    Tagged = lists:zip(lists:seq(1, length(Classes)), Classes),
    Sorted = lists:sort(fun({_, A}, {_, B}) -> A =< B end, Tagged),
    io:format("~w~n", [[I || {I, _} <- Sorted]]),
    Matrix = [[rel(A, B) || {_, B} <- Tagged] || {_, A} <- Tagged],
    [io:format("~s~n", [Row]) || Row <- Matrix],
    %% exactly one of <, >, == holds, and <= is transitive on the sorted list
    [begin
         1 = length([x || true <- [A < B, A > B, A == B]]),
         true = (A =< B) =:= (not (A > B)),
         true = (A >= B) =:= (not (A < B))
     end || A <- Classes, B <- Classes],
    Vs = [V || {_, V} <- Sorted],
    [true = lists:nth(I, Vs) =< lists:nth(J, Vs) || I <- lists:seq(1, length(Vs)),
     J <- lists:seq(I, length(Vs))],
    io:format("~p~n", [[type(V) || V <- Vs]]).

rel(A, B) when A =:= B -> $=;
rel(A, B) when A == B -> $~;
rel(A, B) when A < B -> $<;
rel(_, _) -> $>.

type(X) when is_integer(X) -> i;
type(X) when is_float(X) -> f;
type(X) when is_atom(X) -> a;
type(X) when is_reference(X) -> r;
type(X) when is_function(X) -> 'fun';
type(X) when is_pid(X) -> p;
type(X) when is_tuple(X) -> t;
type(X) when is_map(X) -> m;
type([]) -> nil;
type(X) when is_list(X) -> l;
type(X) when is_bitstring(X) -> b.

id(X) -> X.
