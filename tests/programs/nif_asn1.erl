%% needs: /usr/lib/erlang/lib/asn1-*/priv/lib/asn1rt_nif.so
%% OTP's own library for ASN.1, and what public_key does with it.
-module(nif_asn1).
-export([start/0]).

start() ->
    Term = {16, [{2, <<1>>}, {4, <<"abc">>}, {16, [{2, <<0, 255>>}, {12, <<"utf8">>}]}]},
    Bytes = iolist_to_binary(asn1rt_nif:encode_ber_tlv(Term)),
    io:format("~p~n~p~n", [Bytes, asn1rt_nif:decode_ber_tlv(Bytes)]),
    [io:format("~p~n", [try asn1rt_nif:decode_ber_tlv(B) catch C:R -> {C, R} end])
     || B <- [<<1, 2>>, <<>>, <<16#30, 16#80, 2, 1, 1, 0, 0>>, <<16#30, 16#FF>>]],
    io:format("~p~n", [asn1rt_nif:encode_per_complete([<<1, 2>>, [0, 1, 1]])]),
    Key = {'RSAPublicKey', 1 bsl 1023 + 12345, 65537},
    Der = public_key:der_encode('RSAPublicKey', Key),
    io:format("~p~n", [{byte_size(Der), public_key:der_decode('RSAPublicKey', Der) =:= Key}]),
    Pem = public_key:pem_encode([public_key:pem_entry_encode('RSAPublicKey', Key)]),
    io:format("~s~p~n", [Pem, public_key:pem_entry_decode(hd(public_key:pem_decode(Pem))) =:= Key]).
