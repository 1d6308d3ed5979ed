%% SHA-256 written out in Erlang: 32-bit arithmetic, rotations, binaries.
-module(app_sha256).
-export([main/1]).

main(_) ->
    [io:format("~s ~p~n", [hex(sha(T)), byte_size(T)]) || T <- [<<>>, <<"abc">>,
                                                                <<"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq">>, binary:copy(<<"a">>, 1000), << <<I>> || I <- lists:seq(0, 200) >>]],
    io:format("~s~n", [hex(lists:foldl(fun(_, H) -> sha(H) end, <<"seed">>, lists:seq(1, 100)))]).

-define(M, 16#FFFFFFFF).

primes(N) -> primes(N, 2, []).
primes(0, _, Acc) -> lists:reverse(Acc);
primes(N, P, Acc) -> case lists:any(fun(Q) -> P rem Q =:= 0 end, Acc) of true ->
                         primes(N, P + 1, Acc); false -> primes(N - 1, P + 1, [P | Acc]) end.

%% The first 32 bits of the fractional parts of roots of primes, with whole numbers only.
root_bits(P, K) -> iroot(P bsl (32 * K), K) band ?M.
iroot(N, K) -> iroot(N, K, 0, 1 bsl 40).
iroot(_, _, Lo, Hi) when Hi - Lo =< 1 -> Lo;
iroot(N, K, Lo, Hi) -> Mid = (Lo + Hi) div 2, case pow(Mid, K) =< N of true -> iroot(N, K, Mid, Hi);
                                                  false -> iroot(N, K, Lo, Mid) end.
pow(X, 2) -> X * X;
pow(X, 3) -> X * X * X.

sha(Data) ->
    K = [root_bits(P, 3) || P <- primes(64)],
    H0 = [root_bits(P, 2) || P <- primes(8)],
    Len = bit_size(Data),
    Zeros = (448 - (Len + 1) rem 512 + 512) rem 512,
    blocks(<<Data/binary, 1:1, 0:Zeros, Len:64>>, H0, K).

blocks(<<>>, H, _) -> << <<X:32>> || X <- H >>;
blocks(<<Block:64/binary, R/binary>>, H, K) ->
    W = schedule([X || <<X:32>> <= Block]),
    blocks(R, lists:zipwith(fun(A, B) -> (A + B) band ?M end, H, rounds(W, K, H)), K).

schedule(W) -> schedule(lists:reverse(W), 16).
schedule(Rev, 64) -> lists:reverse(Rev);
schedule(Rev, N) ->
    W2 = lists:nth(2, Rev), W7 = lists:nth(7, Rev), W15 = lists:nth(15, Rev),
    W16 = lists:nth(16, Rev),
    S0 = rotr(W15, 7) bxor rotr(W15, 18) bxor (W15 bsr 3),
    S1 = rotr(W2, 17) bxor rotr(W2, 19) bxor (W2 bsr 10),
    schedule([(W16 + S0 + W7 + S1) band ?M | Rev], N + 1).

rounds([], [], H) -> H;
rounds([W | Ws], [K | Ks], [A, B, C, D, E, F, G, H]) ->
    S1 = rotr(E, 6) bxor rotr(E, 11) bxor rotr(E, 25),
    Ch = (E band F) bxor ((bnot E) band G),
    T1 = H + S1 + Ch + K + W,
    S0 = rotr(A, 2) bxor rotr(A, 13) bxor rotr(A, 22),
    Maj = (A band B) bxor (A band C) bxor (B band C),
    rounds(Ws, Ks, [(T1 + S0 + Maj) band ?M, A, B, C, (D + T1) band ?M, E, F, G]).

rotr(X, N) -> ((X bsr N) bor (X bsl (32 - N))) band ?M.
hex(B) -> [io_lib:format("~2.16.0b", [X]) || <<X>> <= B].
