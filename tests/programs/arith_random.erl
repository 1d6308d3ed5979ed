%% Pseudo-random operands of all sizes against arithmetic on lists of decimal digits.
-module(arith_random).
-export([main/1]).

main(_) ->
    {Sum, _} = lists:foldl(fun(_, {H, S}) ->
                                   {A, S1} = number(S), {B, S2} = number(S1),
                                   check(A, B),
                                   {erlang:phash2({H, A + B, A - B, A * B, A band B, A bor B,
                                                   A bxor B, A < B,
                                                   if B =:= 0 -> 0;
                                                       true -> {A div B, A rem B} end}), S2}
                           end, {0, 20231}, lists:seq(1, 600)),
    io:format("~p~n", [Sum]).

%% Sizes from 1 to 260 bits, with long runs of equal bits now and then.
number(S) ->
    S1 = next(S), Bits = (S1 bsr 16) rem 260 + 1,
    {N, S2} = bits(Bits, next(S1), 0),
    Sign = case S2 band 16#10000 of 0 -> 1; _ -> -1 end,
    case (S2 bsr 20) rem 5 of
        0 -> {Sign * (1 bsl Bits), S2};
        1 -> {Sign * ((1 bsl Bits) - 1), S2};
        _ -> {Sign * N, S2}
    end.
bits(B, S, Acc) when B =< 0 -> {Acc, S};
bits(B, S, Acc) -> bits(B - 24, next(S), (Acc bsl 24) bor (S bsr 7 band 16#FFFFFF)).
next(S) -> (S * 6364136223846793005 + 1442695040888963407) band 16#7FFFFFFFFFFFFFFF.

check(A, B) ->
    Da = digits(A), Db = digits(B),
    true = digits(A + B) =:= add(Da, Db),
    true = digits(abs(A) * abs(B)) =:= {1, mul(element(2, Da), element(2, Db))},
    true = (A + B) - B =:= A,
    true = A * (B + 1) =:= A * B + A,
    case B of
        0 -> ok;
        _ ->
            Q = A div B, R = A rem B,
            true = Q * B + R =:= A, true = abs(R) < abs(B), true = R * A >= 0
    end,
    true = (A bxor B) bxor B =:= A,
    true = A band B + (A bor B) =:= A + B,
    true = list_to_integer(integer_to_list(A)) =:= A,
    true = (A < B) =:= (B > A), true = (A =< B) =:= (A < B orelse A =:= B).

%% {Sign, Digits with the least one first}; zero is {1, []}
digits(N) when N < 0 -> {-1, dig(-N)};
digits(N) -> {1, dig(N)}.
dig(0) -> [];
dig(N) -> [C - $0 || C <- lists:reverse(integer_to_list(N))].

add({S, A}, {S, B}) -> {S, plus(A, B, 0)};
add({Sa, A}, {Sb, B}) ->
    case compare(A, B) of
        gt -> {Sa, minus(A, B, 0)};
        lt -> {Sb, minus(B, A, 0)};
        eq -> {1, []}
    end.
plus([], [], 0) -> [];
plus([], [], 1) -> [1];
plus([], B, C) -> plus([0], B, C);
plus(A, [], C) -> plus(A, [0], C);
plus([A | As], [B | Bs], C) -> S = A + B + C, [S rem 10 | plus(As, Bs, S div 10)].
minus(A, B, _) -> strip(sub(A, B, 0)).
sub([], [], 0) -> [];
sub(A, [], C) -> sub(A, [0], C);
sub([A | As], [B | Bs], C) ->
    case A - B - C of D when D < 0 -> [D + 10 | sub1(As, Bs, 1)]; D -> [D | sub1(As, Bs, 0)] end.
sub1([], [], 0) -> [];
sub1([], _, 0) -> [];
sub1(As, Bs, C) -> sub(As, Bs, C).
strip(L) -> lists:reverse(lists:dropwhile(fun(D) -> D =:= 0 end, lists:reverse(L))).
compare(A, B) when length(A) > length(B) -> gt;
compare(A, B) when length(A) < length(B) -> lt;
compare(A, B) -> case {lists:reverse(A), lists:reverse(B)} of {X, X} -> eq; {X, Y} when X > Y -> gt;
                     _ -> lt end.
mul([], _) -> [];
mul(_, []) -> [];
mul(A, [D | B]) -> plus(times(A, D, 0), case mul(A, B) of [] -> []; M -> [0 | M] end, 0, strip).
plus(A, B, C, strip) -> strip(plus(A, B, C)).
times([], _, 0) -> [];
times([], _, C) -> [C];
times([A | T], D, C) -> P = A * D + C, [P rem 10 | times(T, D, P div 10)].
