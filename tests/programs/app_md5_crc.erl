%% MD5, CRC-32 and Adler-32 written in Erlang, beside the built-in ones.
-module(app_md5_crc).
-export([main/1]).

main(_) ->
    Texts = [<<>>, <<"a">>, <<"abc">>, <<"message digest">>, binary:copy(<<"1234567890">>, 8),
             << <<(I * 31)>> || I <- lists:seq(1, 1000) >>],
    [io:format("~s ~p ~.16b ~p ~p~n", [hex(md5(T)), md5(T) =:= erlang:md5(T), crc(T),
                                       crc(T) =:= erlang:crc32(T), adler(T) =:= erlang:adler32(T)])
     || T <- Texts].

md5(Data) ->
    Len = bit_size(Data), Zeros = (448 - (Len + 1) rem 512 + 512) rem 512,
    {A, B, C, D} = blocks(<<Data/binary, 1:1, 0:Zeros, Len:64/little>>,
                          {16#67452301, 16#EFCDAB89, 16#98BADCFE, 16#10325476}),
    <<A:32/little, B:32/little, C:32/little, D:32/little>>.

blocks(<<>>, S) -> S;
blocks(<<Block:64/binary, R/binary>>, {A, B, C, D}) ->
    M = list_to_tuple([W || <<W:32/little>> <= Block]),
    {A1, B1, C1, D1} = rounds(0, M, A, B, C, D),
    blocks(R, {add(A, A1), add(B, B1), add(C, C1), add(D, D1)}).

rounds(64, _, A, B, C, D) -> {A, B, C, D};
rounds(I, M, A, B, C, D) ->
    {F, G} = if
                 I < 16 -> {(B band C) bor ((bnot B) band D), I};
                 I < 32 -> {(D band B) bor ((bnot D) band C), (5 * I + 1) rem 16};
                 I < 48 -> {B bxor C bxor D, (3 * I + 5) rem 16};
                 true -> {C bxor (B bor ((bnot D) band 16#FFFFFFFF)), (7 * I) rem 16}
             end,
    K = trunc(abs(math:sin(I + 1)) * 4294967296),
    Sum = (F + A + K + element(G + 1, M)) band 16#FFFFFFFF,
    rounds(I + 1, M, D, add(B, rotl(Sum, shift(I div 16, I rem 4))), B, C).
shift(0, I) -> element(I + 1, {7, 12, 17, 22});
shift(1, I) -> element(I + 1, {5, 9, 14, 20});
shift(2, I) -> element(I + 1, {4, 11, 16, 23});
shift(3, I) -> element(I + 1, {6, 10, 15, 21}).
rotl(X, N) -> ((X bsl N) bor (X bsr (32 - N))) band 16#FFFFFFFF.
add(A, B) -> (A + B) band 16#FFFFFFFF.
hex(B) -> [io_lib:format("~2.16.0b", [X]) || <<X>> <= B].

crc(T) -> Table = list_to_tuple([entry(N, 8) || N <- lists:seq(0, 255)]),
    crc(T, 16#FFFFFFFF, Table) bxor 16#FFFFFFFF.
crc(<<>>, C, _) -> C;
crc(<<X, R/binary>>, C, T) -> crc(R, element(((C bxor X) band 255) + 1, T) bxor (C bsr 8), T).
entry(C, 0) -> C;
entry(C, N) when C band 1 =:= 1 -> entry((C bsr 1) bxor 16#EDB88320, N - 1);
entry(C, N) -> entry(C bsr 1, N - 1).
adler(T) -> {A, B} = lists:foldl(fun(X, {A, B}) -> A1 = (A + X) rem 65521,
                                     {A1, (B + A1) rem 65521} end, {1, 0}, binary_to_list(T)),
    (B bsl 16) bor A.
