%% Parsers that pass the rest of a binary on: context reuse, backtracking, rest kept and matched
%% again.
-module(bin_match_context).
-export([main/1]).

main(_) ->
    io:format("~p~n", [tokens(<<"let x1 = (12 + y) * 3.5; // end">>)]),
    io:format("~p~n", [count_lines(<<"a\nbb\n\nccc">>, 0)]),
    io:format("~p~n", [split(<<"key: value\r\nother: 1\r\n\r\nbody">>, <<>>)]),
    io:format("~p~n", [headers(<<"Host: example\r\nLength: 12\r\n\r\nhello">>, [])]),
    io:format("~p~n", [keep(<<1, 2, 3, 4>>, [])]),
    io:format("~p~n", [twice(<<"abcdef">>)]),
    io:format("~p~n", [backtrack(<<"aab">>)]),
    io:format("~p~n", [[alternatives(B) || B <- [<<1, 2, 3>>, <<1, 2>>, <<1>>, <<2, 0, 0>>, <<>>,
                                                 <<1, 9, 9>>]]]),
    io:format("~p~n", [fold(fun(C, A) -> (A * 33 + C) band 16#FFFFFFFF end, 5381,
                            binary:copy(<<"hash me ">>, 1000))]),
    io:format("~p~n", [base64(<<"Man is distinguished">>)]),
    io:format("~p~n", [run_length(<<"aaabccddddd">>)]),
    io:format("~p~n", [in_receive(<<"hello">>)]),
    io:format("~p~n", [varints(<<16#96, 1, 0, 127, 255, 255, 3, 128>>)]),
    io:format("~p~n", [mutual(<<"abcabcab">>, [])]),
    io:format("~p~n", [fun_context(<<"xyz">>)]).

tokens(<<C, R/binary>>) when C =:= $\s; C =:= $\n -> tokens(R);
tokens(<<"//", R/binary>>) -> [{comment, R}];
tokens(<<C, _/binary>> = B) when C >= $a, C =< $z -> word(B, 0, B);
tokens(<<C, _/binary>> = B) when C >= $0, C =< $9 -> number(B, 0, B);
tokens(<<C, R/binary>>) -> [C | tokens(R)];
tokens(<<>>) -> [].

word(<<C, R/binary>>, N, All) when C >= $a, C =< $z; C >= $0, C =< $9 -> word(R, N + 1, All);
word(R, N, All) -> <<W:N/binary, _/binary>> = All, [{word, W} | tokens(R)].
number(<<C, R/binary>>, N, All) when C >= $0, C =< $9; C =:= $. -> number(R, N + 1, All);
number(R, N, All) -> [{number, binary:part(All, 0, N)} | tokens(R)].

count_lines(<<$\n, R/binary>>, N) -> count_lines(R, N + 1);
count_lines(<<_, R/binary>>, N) -> count_lines(R, N);
count_lines(<<>>, N) -> N.

split(<<"\r\n\r\n", R/binary>>, Acc) -> {Acc, R};
split(<<C, R/binary>>, Acc) -> split(R, <<Acc/binary, C>>).

headers(<<"\r\n", Body/binary>>, Acc) -> {lists:reverse(Acc), Body};
headers(B, Acc) -> {K, R} = until(B, $:, <<>>), <<" ", R1/binary>> = R,
    {V, <<"\n", R2/binary>>} = until(R1, $\r, <<>>), headers(R2, [{K, V} | Acc]).
until(<<C, R/binary>>, C, Acc) -> {Acc, R};
until(<<X, R/binary>>, C, Acc) -> until(R, C, <<Acc/binary, X>>).

keep(<<A, R/binary>>, Acc) -> keep(R, [{A, R} | Acc]);
keep(<<>>, Acc) -> Acc.

twice(<<A:2/binary, R/binary>> = All) ->
    <<B, _/binary>> = R, <<_:3/binary, C/binary>> = All, <<D:8, _/bits>> = All,
    {A, R, B, C, D, byte_size(All)}.

backtrack(<<"aaa", _/binary>>) -> three;
backtrack(<<"aa", R/binary>>) -> {two, R};
backtrack(<<"a", _/binary>>) -> one.

alternatives(<<1, 2, X>>) -> {a, X};
alternatives(<<1, X>>) -> {b, X};
alternatives(<<X, R/binary>>) when X > 1 -> {c, R};
alternatives(<<1, R/binary>>) -> {d, R};
alternatives(<<>>) -> e.

fold(F, A, <<C, R/binary>>) -> fold(F, F(C, A), R);
fold(_, A, <<>>) -> A.

base64(<<A:6, B:6, C:6, D:6, R/binary>>) -> [e(A), e(B), e(C), e(D) | base64(R)];
base64(<<A:6, B:6, C:4>>) -> [e(A), e(B), e(C bsl 2), $=];
base64(<<A:6, B:2>>) -> [e(A), e(B bsl 4), $=, $=];
base64(<<>>) -> [].
e(N) -> element(N + 1,
                list_to_tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")).

run_length(<<C, R/binary>>) -> run_length(R, C, 1);
run_length(<<>>) -> [].
run_length(<<C, R/binary>>, C, N) -> run_length(R, C, N + 1);
run_length(R, C, N) -> [{[C], N} | run_length(R)].

in_receive(B) ->
    self() ! {bin, B},
    receive {bin, <<"he", R/binary>>} -> R; {bin, _} -> no end.

varints(<<>>) -> [];
varints(B) -> varint(B, 0, 0).
varint(<<1:1, V:7, R/binary>>, S, A) -> varint(R, S + 7, A bor (V bsl S));
varint(<<0:1, V:7, R/binary>>, S, A) -> [A bor (V bsl S) | varints(R)];
varint(<<>>, _, A) -> [{cut, A}].

mutual(<<$a, R/binary>>, Acc) -> state_b(R, [a | Acc]);
mutual(R, Acc) -> {lists:reverse(Acc), R}.
state_b(<<$b, R/binary>>, Acc) -> state_c(R, [b | Acc]);
state_b(R, Acc) -> {b, lists:reverse(Acc), R}.
state_c(<<$c, R/binary>>, Acc) -> mutual(R, [c | Acc]);
state_c(R, Acc) -> {c, lists:reverse(Acc), R}.

fun_context(B) ->
    F = fun Loop(<<C, R/binary>>) -> [C - 32 | Loop(R)]; Loop(<<>>) -> [] end,
    F(B).
