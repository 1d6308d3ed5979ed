%% Matching integers out of binaries: constant and computed sizes, signs, endians, literal
%% values, failures.
-module(bin_match_int).
-export([main/1, id/1]).

main(_) ->
    Data = << <<(I * 37 + 11):8>> || I <- lists:seq(0, 31) >>,
    [io:format("~w ~w ~w ~w ~w~n", [S | ints(S, Data)])
     || S <- [0, 1, 2, 5, 8, 9, 13, 16, 23, 24, 32, 40, 47, 48, 56, 58, 59, 60, 61, 63, 64, 65, 80,
              120, 128, 255, 256]],
    [io:format("~w~n", [offset(O, Data)]) || O <- lists:seq(0, 20)],
    <<A:4, B:4/signed, C:16/little, D:24/big-signed, E:3/unit:5, F:1, Rest/bits>> = Data,
    io:format("~p~n", [{A, B, C, D, E, F, bit_size(Rest)}]),
    io:format("~p~n", [[packet(P) || P <- [<<1, 0, 3, "abc", "tail">>, <<1, 0, 9, "abc">>,
                                           <<2, 7:32/little>>, <<2, 7:24>>, <<3, 5, 1, 2, 3, 4, 5>>,
                                          <<3, 6, 1, 2, 3, 4, 5>>, <<4:3, 9:5, 1>>, <<>>, <<255>>,
                                          <<1:1>>, not_binary]]]),
    io:format("~p~n", [[literal(P) || P <- [<<16#89, "PNG">>, <<"GIF8", 9>>, <<16#1234:16>>,
                                            <<16#3412:16>>, <<-1:16>>, <<5:3, 2:5>>, <<0>>]]]),
    io:format("~p~n", [sum16(Data, 0)]),
    io:format("~p~n", [bits(<<16#A5, 2:3>>)]),
    io:format("~p~n", [[badly(S) || S <- [0, 8, 9, -1, a, 1.0, 1 bsl 70, -(1 bsl 70)]]]),
    io:format("~p~n", [sized(<<4, 255, 16:8, 1, 2, 0>>)]),
    io:format("~p~n", [again(<<1, 1, 2>>)]).

badly(S) ->
    Skip = case <<1, 2>> of <<_:8, _:S, _/bits>> -> ok; _ -> nomatch end,
    Read = try <<_:8, X:S, _/bits>> = id(<<1, 2>>), X catch error:{badmatch, _} -> badmatch end,
    Bits = try <<_:8, Y:S/bits, _/bits>> = id(<<1, 2>>), Y catch error:{badmatch, _} ->
               badmatch end,
    {Skip, Read, Bits}.

ints(S, Data) ->
    <<U:S, _/bits>> = Data, <<N:S/signed, _/bits>> = Data, <<L:S/little, _/bits>> = Data,
    <<M:S/little-signed, _/bits>> = Data,
    [U, N, L, M].

offset(O, Data) ->
    case Data of
        <<_:O, A:7, B:9/signed, C:12/little, D:64, E:60/signed-little, _/bits>> -> {A, B, C, D, E};
        _ -> none
    end.

packet(<<1, Len:16, Body:Len/binary, Rest/binary>>) -> {string, Body, Rest};
packet(<<2, N:32/little>>) -> {number, N};
packet(<<3, N, Bytes:N/bytes>>) -> {bytes, Bytes};
packet(<<4:3, N:5, _/bits>>) -> {bitfield, N};
packet(<<>>) -> empty;
packet(<<B>>) -> {byte, B};
packet(B) when is_bitstring(B) -> {other, bit_size(B)};
packet(_) -> none.

literal(<<16#89, "PNG">>) -> png;
literal(<<"GIF", V, _>>) -> {gif, V};
literal(<<16#1234:16>>) -> big;
literal(<<16#1234:16/little>>) -> little;
literal(<<-1:16/signed>>) -> minus;
literal(<<5:3, X:5>>) -> {five, X};
literal(_) -> no.

sum16(<<N:16, T/binary>>, S) -> sum16(T, S + N);
sum16(<<>>, S) -> S.

bits(<<B:1, T/bits>>) -> [B | bits(T)];
bits(<<>>) -> [].

sized(<<N, Rest/binary>>) ->
    <<A:N, B:(N * 2), C:N, D/binary>> = Rest,
    {A, B, C, D}.

again(<<A, A, B>>) -> {same, A, B};
again(_) -> different.
id(X) -> X.
