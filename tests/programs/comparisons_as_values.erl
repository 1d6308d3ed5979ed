%% Comparisons whose results are values and not branches: all operators on all types, equal and nearly so.
-module(comparisons_as_values).
-export([main/1]).

main(_) ->
    Terms = [0, 1, -1, 1.0, 2.5, 1 bsl 60, -(1 bsl 60), (1 bsl 60) - 1, 1 bsl 64, float(1 bsl 64), a, b, [], [a], [a | b],
             {}, {a}, {a, 1}, {a, 1.0}, <<>>, <<"a">>, <<1:3>>, #{}, #{a => 1}, #{a => 1.0}, "a", 1.0e300],
    [io:format("~w ~w ~s~n", [A, B, [bit(X) || X <- all(A, B)]]) || A <- Terms, B <- Terms],
    io:format("~s~n", [[bit(X) || A <- Terms, X <- constants(copy(A))]]),
    io:format("~p~n", [[try logic(A, B) catch error:E -> E end || A <- [true, false, no], B <- [true, false, no]]]),
    io:format("~p~n", [lists:foldl(fun(X, N) -> add(copy(X) =:= X, N) end, 0, Terms)]).

bit(true) -> $1;
bit(false) -> $0.

%% The same term again, and not the same words of memory.
copy(X) -> binary_to_term(term_to_binary(X)).

all(A, B0) ->
    B = copy(B0),
    [A =:= B, A =/= B, A == B, A /= B, A < B, A >= B, A > B, A =< B].

constants(X) ->
    [X =:= a, X =/= a, X == 1, X /= 1, X < 1, X >= 1.0, 1 > X, 1 =< X, X =:= [a], X == {a, 1}, [] =:= X, X =/= [],
     X =:= 1.0, X < b, a =< X, X =:= 1 bsl 64].

logic(A, B) -> {A and B, A or B, A xor B, not A, (A =:= B) =:= (B =:= A)}.

add(true, N) -> N + 1;
add(false, N) -> N.
