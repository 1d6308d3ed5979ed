%% Textbook RSA, Diffie-Hellman and Shamir's secret sharing with long numbers from a fixed seed.
-module(app_rsa).
-export([main/1]).

main(_) ->
    P = next_prime((1 bsl 127) + 12345), Q = next_prime((1 bsl 126) + 54321),
    N = P * Q, Phi = (P - 1) * (Q - 1), E = 65537, D = inverse(E, Phi),
    io:format("~p~n~p~n", [N, D]),
    M = binary:decode_unsigned(<<"attack at dawn, bring cake">>),
    C = powmod(M, E, N),
    io:format("~p~n~s~n", [C, binary:encode_unsigned(powmod(C, D, N))]),
    G = 5, A = powmod(G, 123456789012345678901234567890, P), B = powmod(G, 98765432109876543210, P),
    io:format("~p~n",
              [powmod(A, 98765432109876543210, P) =:= powmod(B, 123456789012345678901234567890,
                                                             P)]),
    Coeffs = [M, 1234567890123456789, 998877665544332211],
    Shares = [{X, horner(Coeffs, X, P)} || X <- [1, 2, 3, 4, 5]],
    io:format("~p~n",
              [[recover(S, P) =:= M rem P || S <- [lists:sublist(Shares, 3),
                                                   lists:nthtail(2, Shares),
                                                   [hd(Shares), lists:nth(3, Shares),
                                                    lists:last(Shares)]]]]),
    io:format("~p~n", [recover(lists:sublist(Shares, 2), P) =:= M rem P]),
    io:format("~p~n", [crt([{2, 3}, {3, 5}, {2, 7}, {10, 11}])]).

powmod(_, 0, _) -> 1;
powmod(B, E, M) when E band 1 =:= 1 -> B * powmod(B, E - 1, M) rem M;
powmod(B, E, M) -> powmod(B * B rem M, E bsr 1, M).
egcd(A, 0) -> {A, 1, 0};
egcd(A, B) -> {G, X, Y} = egcd(B, A rem B), {G, Y, X - (A div B) * Y}.
inverse(A, M) -> {1, X, _} = egcd(A, M), ((X rem M) + M) rem M.
next_prime(N) when N band 1 =:= 0 -> next_prime(N + 1);
next_prime(N) -> case lists:all(fun(A) -> powmod(A, N - 1, N) =:= 1 end,
                                [2, 3, 5, 7, 11, 13]) of true -> N; false -> next_prime(N + 2) end.
horner(Cs, X, P) -> lists:foldr(fun(C, A) -> (A * X + C) rem P end, 0, Cs).
recover(Shares, P) ->
    lists:foldl(fun({X, Y}, Sum) ->
        L = lists:foldl(fun({Z, _}, A) when Z =/= X ->
                            A * Z * inverse(((Z - X) rem P + P) rem P, P) rem P; (_, A) -> A end, Y,
                        Shares),
        (Sum + L) rem P end, 0, Shares).
crt(L) -> M = lists:foldl(fun({_, B}, A) -> A * B end, 1, L),
    lists:sum([R * (M div B) * inverse(M div B rem B, B) || {R, B} <- L]) rem M.
