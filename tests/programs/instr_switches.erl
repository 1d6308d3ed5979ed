%% Code shapes that exercise unusual instructions: big selects on tuples' arities, deep patterns,
%% calls with many live values.
-module(instr_switches).
-export([main/1, id/1]).

main(_) ->
    Ts = [{}, {1}, {a, 1}, {b, 2}, {a, {b, [1, {c, <<"x", 1:3>>}]}}, {a, b, c, d},
          list_to_tuple(lists:seq(1, 12)), [{a, 1}, {b, 2} | {c, 3}], #{a => {1, [2]}}, "abc",
          <<"abc">>, {tag, #{k => 1}}, {1.0}, {1 bsl 64}, [[]]],
    [io:format("~p -> ~p~n", [T, shape(T)]) || T <- Ts],
    io:format("~p~n", [deep({1, {2, {3, {4, {5, [6, [7, [8, {9}]]]}}}}})]),
    io:format("~p~n", [swap_many(1, 2, 3, 4, 5, 6, 7, 8)]),
    io:format("~p~n", [lit(5)]),
    io:format("~p~n", [[nested_case(A, B, C) || A <- [1, x], B <- [[], [1]], C <- [{}, {1}]]]),
    io:format("~p~n", [if_chain([5, 15, 25, 35, a])]),
    io:format("~p~n",
              [bools([{A, B, C} || A <- [true, false], B <- [true, false], C <- [true, false]])]),
    io:format("~p~n", [binops(7, 3)]),
    io:format("~p~n", [bind_same({1, 1, [1]}, {2, 2, [3]})]),
    io:format("~p~n", [lists:map(fun({X, _} = P) -> {P, X}; ([H | _] = L) -> {L, H}; (X) -> X end,
                                 [{1, 2}, [3, 4], 5])]),
    io:format("~p~n", [begin {A1, B1} = {B2, A2} = {id(1), id(2)}, [A1, B1, A2, B2] end]).

shape({}) -> empty;
shape({X}) when is_float(X) -> {float, X};
shape({X}) when X > 1 bsl 60 -> big;
shape({X}) -> {one, X};
shape({a, {b, [X, {c, <<Y, Z:3>>}]}}) -> {deep, X, Y, Z};
shape({a, X}) -> {a, X};
shape({b, X}) -> {b, X};
shape({tag, #{k := V}}) -> {map_in_tuple, V};
shape({_, _, _, X}) -> {four, X};
shape(T) when is_tuple(T), element(12, T) =:= 12 -> twelve;
shape([{a, X}, {b, Y} | Z]) -> {list, X, Y, Z};
shape(#{a := {X, [Y]}}) -> {map, X, Y};
shape("abc") -> string;
shape(<<"abc">>) -> binary;
shape(_) -> other.

deep({A, {B, {C, {D, {E, [F, [G, [H, {I}]]]}}}}}) -> [I, H, G, F, E, D, C, B, A].

swap_many(A, B, C, D, E, F, G, H) -> {X, Y} = pair(H, A), {Z, W} = pair(G, B),
    {pair(X, Z), pair(Y, W), pair(C, F), pair(D, E), A + B + C + D + E + F + G + H}.
pair(A, B) -> {B, A}.

lit(N) -> [{N, "literal string", <<"literal binary">>, #{literal => map, n => N}, [1, [2, [3 | N]]],
            {tuple, {with, {tuples}}}, 1.5e10, 123456789012345678901234567890,
            fun lists:reverse/1}].

nested_case(A, B, C) ->
    case A of
        1 -> case B of [] -> case C of {} -> a; {_} -> b end;
                 [X] -> case C of {X} -> c; _ -> d end end;
        x when C =:= {} -> case {A, B} of {x, []} -> e; {x, _} -> f end;
        _ -> case [A, B, C] of [_, [] | _] -> g; [_, _, {Y}] -> {h, Y} end
    end.

if_chain(L) -> [if X < 10 -> low; X < 20, X > 12 -> mid; X =:= 25; X =:= 26 -> exact;
                    is_integer(X) -> int; true -> other end || X <- L].

bools(L) -> [{A and B or C, A andalso B orelse C, not A xor B, A =:= B, (A or B) and not C,
              case A andalso (B orelse C) of true -> yes; false -> no end} || {A, B, C} <- L].

binops(A, B) -> {A + B, A - B, A * B, A div B, A rem B, A band B, A bor B, A bxor B, A bsl B,
                 A bsr B, -A, bnot A, A / B, A == B, A /= B, A < B, A =< B, A > B, A >= B, A =:= B,
                 A =/= B}.

bind_same({X, X, [X]}, {Y, Y, Z}) -> {X, Y, Z};
bind_same(_, _) -> no.
id(X) -> X.
