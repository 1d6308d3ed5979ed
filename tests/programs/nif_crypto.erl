%% needs: /usr/lib/erlang/lib/crypto-*/priv/lib/crypto.so
%% OTP's own crypto library: hashes, MACs, ciphers, keys, signatures, streams and its errors.
-module(nif_crypto).
-export([start/0]).

start() ->
    io:format("~p~n",[crypto:hash(sha256,"abc")]),
    [io:format("~p ~p~n",[H,crypto:hash(H,binary:copy(<<"x">>,100000))]) || H <- [md5,sha,sha224,sha384,sha512,sha3_256,blake2b]],
    io:format("~p~n",[crypto:mac(hmac,sha256,<<"k">>,<<"data">>)]),
    K= <<1:256>>, IV= <<2:128>>,
    [begin E=crypto:crypto_one_time(C,K,IV,<<"hello worldhello">>,true), io:format("~p ~p ~p~n",[C,E,crypto:crypto_one_time(C,K,IV,E,false)]) end || C <- [aes_256_cbc,aes_256_ctr,aes_256_cfb128]],
    {CT,Tag}=crypto:crypto_one_time_aead(aes_256_gcm,K,<<3:96>>,<<"plain">>,<<"aad">>,true),
    io:format("~p ~p~n",[{CT,Tag},crypto:crypto_one_time_aead(aes_256_gcm,K,<<3:96>>,CT,<<"aad">>,Tag,false)]),
    S0=crypto:hash_init(sha256),S1=crypto:hash_update(S0,<<"ab">>),S2=crypto:hash_update(S1,"c"),
    io:format("~p~n",[crypto:hash_final(S2)]),
    io:format("~p~n",[try crypto:hash(nope,<<>>) catch C:E1:S -> {C,E1,hd(S)} end]),
    io:format("~p~n",[crypto:mod_pow(3,1000,1000007)]),
    {Pub,Priv}=crypto:generate_key(ecdh,x25519), {Pub2,Priv2}=crypto:generate_key(ecdh,x25519),
    io:format("~p~n",[crypto:compute_key(ecdh,Pub2,Priv,x25519)=:=crypto:compute_key(ecdh,Pub,Priv2,x25519)]),
    {EPub,EPriv}=crypto:generate_key(ecdh,secp256r1),
    Sig=crypto:sign(ecdsa,sha256,<<"msg">>,[EPriv,secp256r1]),
    io:format("~p~n",[crypto:verify(ecdsa,sha256,<<"msg">>,Sig,[EPub,secp256r1])]),
    io:format("~p~n",[lists:sort(proplists:get_value(hashs,crypto:supports()))]),
    io:format("~p~n",[crypto:exor(<<1,2,3>>,<<4,5,6>>)]),
    errors().

errors() ->
    [io:format("~p~n", [try F() catch C:{R, _, _}:T -> {C, R, element(1, hd(T)), element(2, hd(T))};
                                      C:R:T -> {C, R, element(1, hd(T)), element(2, hd(T))} end])
     || F <- [fun() -> crypto:hash(sha256, not_data) end,
              fun() -> crypto:crypto_one_time(aes_256_cbc, <<1>>, <<2:128>>, <<>>, true) end,
              fun() -> crypto:mac(hmac, sha256, key, <<>>) end,
              fun() -> crypto:generate_key(ecdh, no_curve) end]],
    Stream = crypto:crypto_init(aes_128_ctr, <<1:128>>, <<2:128>>, true),
    Parts = [crypto:crypto_update(Stream, binary:copy(<<N>>, 100 * N)) || N <- lists:seq(1, 50)],
    io:format("~p ~p~n", [iolist_size(Parts), erlang:md5(Parts)]),
    %% Large data goes to a dirty scheduler.
    Large = binary:copy(<<"0123456789abcdef">>, 300000),
    io:format("~p~n", [crypto:hash(sha512, Large)]),
    Mac = crypto:mac_init(hmac, sha512, <<"key">>),
    io:format("~p~n", [crypto:mac_final(crypto:mac_update(Mac, Large))]),
    Parent = self(),
    Pids = [spawn_link(fun() -> Parent ! {self(), crypto:hash(sha256, binary:copy(<<N>>, 100000))} end)
            || N <- lists:seq(1, 20)],
    io:format("~p~n", [erlang:md5([receive {P, H} -> H end || P <- Pids])]).
