%% Binary comprehensions from and to binaries and lists, of all units, with filters and tails.
-module(bin_comprehension).
-export([main/1, id/1]).

main(_) ->
    io:format("~p~n", [<< <<(X + 1)>> || <<X>> <= <<"HAL">> >>]),
    io:format("~p~n", [<< <<X:4>> || X <- lists:seq(1, 9) >>]),
    io:format("~p~n", [[X || <<X:3>> <= <<16#FACE:16>>]]),
    io:format("~p~n", [[{A, B} || <<A:4, B:4>> <= <<"xyz">>, A > B]]),
    io:format("~p~n", [<< <<B, A>> || <<A, B>> <= <<"abcdef">> >>]),
    io:format("~p~n", [<< <<B/binary>> || B <- [<<"a">>, <<"bc">>, <<>>, <<"def">>] >>]),
    io:format("~p~n", [<< <<B/bits>> || B <- [<<1:1>>, <<2:2>>, <<5:5>>] >>]),
    io:format("~p~n", [[B || <<L, B:L/binary>> <= <<1, "a", 3, "bcd", 0, 9, "cut">>]]),
    io:format("~p~n", [[X || <<1:1, X:7>> <= <<129, 130, 5, 131>>]]),
    io:format("~p~n", [<< <<X:16/little>> || <<X:16/big>> <= <<1, 2, 3, 4, 5>> >>]),
    io:format("~p~n", [<< <<X, Y>> || X <- [1, 2], <<Y>> <= <<7, 8>> >>]),
    io:format("~p~n", [<< << <<Y>> || Y <- lists:seq(1, X) >> || X <- [1, 2, 3] >>]),
    io:format("~p~n", [[X || <<X/signed>> <= <<255, 1, 128>>]]),
    io:format("~p~n", [[F || <<F/float>> <= <<1.5/float, 2.5/float>>]]),
    io:format("~p~n", [<< <<C/utf8>> || C <- "grüße €" >>]),
    io:format("~p~n", [[[X, Y] || <<X>> <= <<"ab">>, <<Y>> <= <<"cd">>]]),
    io:format("~p~n", [byte_size(<< <<X:32>> || X <- lists:seq(1, 10000), X rem 3 =:= 0 >>)]),
    io:format("~p~n", [erlang:phash2(<< <<(X * X):20>> || X <- lists:seq(1, 5000) >>)]),
    io:format("~p~n", [try << <<X>> || X <- id([1, a]) >> catch error:R -> R end]),
    io:format("~p~n", [try << <<X/binary>> || X <- id([<<1>>, <<1:1>>]) >> catch error:R2 ->
                           R2 end]),
    io:format("~p~n", [begin Five = id(5), [X || <<X:Five>> <= <<1, 2, 3, 4, 5>>] end]),
    io:format("~p~n", [<< <<X:N>> || {X, N} <- [{1, 1}, {2, 2}, {3, 3}, {4, 4}, {5, 6}] >>]).

id(X) -> X.
