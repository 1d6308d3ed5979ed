%% case over many constants: small and large tables of atoms, integers, big integers, floats,
%% tuples.
-module(select_values).
-export([main/1]).

main(_) ->
    Values = [a, b, c, zz, 0, 1, 2, 3, 10, 100, -1, -100, 1000000, (1 bsl 59), (1 bsl 60), 1 bsl 64,
              -(1 bsl 64), (1 bsl 64) + 1,
              1.0, 2.0, 1.5, [], {}, {a}, {a, b}, {1, 2, 3}, "a", <<"a">>, <<>>, #{}, true, false],
    [io:format("~p: ~p~n", [Name, [F(V) || V <- Values]])
     || {Name, F} <- [{atoms, fun atoms/1}, {ints, fun ints/1}, {sparse, fun sparse/1},
                      {dense, fun dense/1},
                      {bigs, fun bigs/1}, {mixed, fun mixed/1}, {floats, fun floats/1},
                      {arity, fun arity/1}, {two, fun two/1}]],
    io:format("~p~n", [[dense(N) || N <- lists:seq(-2, 22)]]),
    io:format("~p~n", [[sparse(N) || N <- [7, 77, 777, 7777, 77777, 777777, 7777777, 77777777,
                                           777777777, 7777777777, 77777777777, 8]]]),
    io:format("~s~n", [[char(C) || C <- "Hello, World 0123456789 \t\n~{}"]]),
    io:format("~p~n", [[month(M) || M <- [jan, feb, mar, apr, may, jun, jul, aug, sep, oct, nov,
                                          dec, foo]]]),
    io:format("~p~n", [[binaries(B) || B <- [<<"get">>, <<"put">>, <<"post">>, <<"delete">>, <<>>,
                                             <<"gets">>, get]]]).

atoms(a) -> 1; atoms(b) -> 2; atoms(c) -> 3; atoms(d) -> 4; atoms(e) -> 5; atoms(f) -> 6;
atoms(g) -> 7;
atoms(h) -> 8; atoms(i) -> 9; atoms(j) -> 10; atoms(k) -> 11; atoms(zz) -> 12; atoms(_) -> none.

ints(1) -> one; ints(2) -> two; ints(3) -> three; ints(_) -> none.

sparse(7) -> 1; sparse(77) -> 2; sparse(777) -> 3; sparse(7777) -> 4; sparse(77777) -> 5;
sparse(777777) -> 6;
sparse(7777777) -> 7; sparse(77777777) -> 8; sparse(777777777) -> 9; sparse(7777777777) -> 10;
sparse(-100) -> minus; sparse(1000000) -> million; sparse(576460752303423488) -> p59;
sparse(1152921504606846976) -> p60; sparse(_) -> none.

dense(0) -> z; dense(1) -> a; dense(2) -> b; dense(3) -> c; dense(4) -> d; dense(5) -> e;
dense(6) -> f; dense(7) -> g;
dense(8) -> h; dense(9) -> i; dense(10) -> j; dense(11) -> k; dense(12) -> l; dense(14) -> n;
dense(15) -> o;
dense(16) -> p; dense(17) -> q; dense(18) -> r; dense(19) -> s; dense(20) -> t; dense(_) -> none.

bigs(18446744073709551616) -> p64; bigs(-18446744073709551616) -> m64;
bigs(18446744073709551617) -> p64_1;
bigs(340282366920938463463374607431768211456) -> p128; bigs(_) -> none.

mixed(a) -> atom_a; mixed(1) -> int_1; mixed(1.5) -> float; mixed([]) -> nil; mixed({}) -> empty;
mixed("a") -> string;
mixed(<<"a">>) -> binary; mixed(18446744073709551616) -> big; mixed(b) -> atom_b;
mixed(100) -> int_100;
mixed({a, X}) -> {tuple, X}; mixed(_) -> none.

floats(1.0) -> one; floats(2.0) -> two; floats(1.5) -> half; floats(_) -> none.

arity({}) -> 0; arity({A}) -> {1, A}; arity({A, B}) -> {2, A, B}; arity({A, B, C}) -> {3, A, B, C};
arity({_, _, _, _}) -> 4; arity(_) -> none.

two(X) when X =:= true; X =:= false -> boolean;
two(X) -> case X of a -> first; b -> second; _ -> rest end.

char(C) when C >= $a, C =< $z -> C - 32;
char(C) when C >= $A, C =< $Z -> C + 32;
char($\s) -> $_;
char($\t) -> $T;
char($\n) -> $N;
char(C) when C >= $0, C =< $9 -> $0 + ($9 - C);
char(C) -> C.

month(M) ->
    case M of
        jan -> 31; feb -> 28; mar -> 31; apr -> 30; may -> 31; jun -> 30;
        jul -> 31; aug -> 31; sep -> 30; oct -> 31; nov -> 30; dec -> 31;
        Other -> {no_month, Other}
    end.

binaries(<<"get">>) -> 1;
binaries(<<"put">>) -> 2;
binaries(<<"post">>) -> 3;
binaries(<<"delete">>) -> 4;
binaries(<<>>) -> empty;
binaries(B) when is_binary(B) -> {other, B};
binaries(_) -> none.
