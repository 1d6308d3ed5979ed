%% Code where the compiler knows types and drops checks: loops on small integers, floats,
%% binaries, lists.
-module(instr_types).
-export([main/1, id/1]).

main(_) ->
    io:format("~p~n", [count_down(id(100), 0)]),
    io:format("~p~n", [float_loop(id(10), 0.5)]),
    io:format("~p~n", [byte_sum(id(<<1, 2, 3, 255>>), 0)]),
    io:format("~p~n", [masked(id(16#123456789ABCDEF0123), 10)]),
    io:format("~p~n", [mixed(id(1), id(2.0))]),
    io:format("~p~n", [[ranges(X) || X <- [0, 255, 256, -1, 65535, 65536, 1 bsl 40, 1 bsl 62]]]),
    io:format("~p~n", [indexes(list_to_tuple(lists:seq(10, 100, 10)), 1)]),
    io:format("~p~n", [lcg(12345, 20)]),
    io:format("~p~n", [adler(<<"Wikipedia">>)]),
    io:format("~p~n", [fnv(<<"hello world">>)]),
    io:format("~p~n", [xorshift(88172645463325252, 10)]),
    io:format("~p~n", [overflow_loop(1, 70)]),
    io:format("~p~n", [cmp_chain([1, 5, 10, 1.0, a, [], {}])]),
    io:format("~p~n", [rec_update({state, 0, [], <<>>}, 5)]),
    io:format("~p~n", [len_then_nth(lists:seq(1, 10))]),
    io:format("~p~n", [bool_result(id(5)) andalso bool_result(id(50))]).

count_down(0, A) -> A;
count_down(N, A) when is_integer(N), N > 0, N < 1000 -> count_down(N - 1, A + N * N).
float_loop(0, F) -> F;
float_loop(N, F) when is_float(F) -> float_loop(N - 1, F * 1.5 + 1 / N).
byte_sum(<<B, R/binary>>, S) -> byte_sum(R, (S bsl 1) + B);
byte_sum(<<>>, S) -> S.
masked(_, 0) -> [];
masked(X, N) -> [X band 16#FF | masked(X bsr 8, N - 1)].
mixed(A, B) when is_integer(A), is_float(B) ->
    {A + B, A * B, A / B, B - A, A < B, A == B, trunc(B) + A}.
ranges(X) when X >= 0, X < 256 -> {byte, X + 1};
ranges(X) when X < 0 -> {neg, -X};
ranges(X) when X < 65536 -> {word, X * X};
ranges(X) -> {wide, X * 4}.
indexes(T, I) when I =< tuple_size(T) -> [element(I, T) + I | indexes(T, I + 1)];
indexes(_, _) -> [].
lcg(_, 0) -> [];
lcg(S, N) -> S1 = (S * 1103515245 + 12345) rem 2147483648, [S1 rem 100 | lcg(S1, N - 1)].
adler(B) -> adler(B, 1, 0).
adler(<<X, R/binary>>, A, B) -> A1 = (A + X) rem 65521, adler(R, A1, (B + A1) rem 65521);
adler(<<>>, A, B) -> (B bsl 16) bor A.
fnv(B) -> lists:foldl(fun(C, H) -> ((H bxor C) * 1099511628211) band 16#FFFFFFFFFFFFFFFF end,
                      14695981039346656037, binary_to_list(B)).
xorshift(_, 0) -> [];
xorshift(X, N) -> A = (X bxor (X bsl 13)) band 16#FFFFFFFFFFFFFFFF, B = A bxor (A bsr 7),
    C = (B bxor (B bsl 17)) band 16#FFFFFFFFFFFFFFFF, [C rem 1000 | xorshift(C, N - 1)].
overflow_loop(X, 0) -> X;
overflow_loop(X, N) -> overflow_loop(X + X, N - 1).
cmp_chain(L) -> [{X < 5, X =< 5, X >= 5, X > 5, X == 1, X =:= 1, 5 < X} || X <- L].
rec_update(S, 0) -> S;
rec_update({state, N, L, B}, K) -> rec_update({state, N + K, [K | L], <<B/binary, K>>}, K - 1).
len_then_nth(L) -> N = length(L), [lists:nth(I, L) || I <- lists:seq(N, 1, -3)].
bool_result(X) -> X > 1 andalso X < 100.
id(X) -> X.
