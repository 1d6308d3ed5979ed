%% Binaries of any size that differ in one byte, or in their last bits, wherever they begin.
-module(binary_equality).
-export([main/1]).

main(_) ->
    Sizes = lists:seq(0, 20) ++ [31, 32, 33, 63, 64, 65, 66, 127, 128, 200],
    io:format("~w~n", [[sizes(N) || N <- Sizes]]),
    io:format("~w~n", [[bits(N) || N <- [1, 3, 7, 8, 9, 15, 63, 65, 130]]]),
    Keys = [list_to_binary(lists:seq(1, N)) || N <- lists:seq(0, 30)],
    Map = maps:from_list([{K, byte_size(K)} || K <- Keys]),
    io:format("~w~n", [[maps:get(shifted(K), Map, none) || K <- Keys]]),
    io:format("~w~n", [[maps:get(<<K/binary, 0>>, Map, none) || K <- Keys]]).

%% How many of the changes of one byte are seen, of those of an equal copy, and of a part of a larger one.
sizes(N) ->
    B = list_to_binary([I * 7 band 255 || I <- lists:seq(1, N)]),
    Others = [begin
                  <<A:I/binary, X, C/binary>> = B,
                  <<A/binary, (X bxor 128), C/binary>>
              end || I <- lists:seq(0, N - 1)],
    {length([O || O <- Others, O =/= B]), length([O || O <- Others, shifted(O) =:= B]),
     B =:= shifted(B), shifted(B) == B, <<B/binary, 1>> =:= <<(shifted(B))/binary, 1>>, <<B/binary, 1>> =:= B}.

%% The same bytes from the second bit of another binary on.
shifted(B) ->
    <<_:3, S:(byte_size(B))/binary, _/bits>> = <<5:3, B/binary, 2:5>>,
    S.

bits(N) ->
    A = <<(1 bsl N - 1):N>>,
    [A =:= <<((1 bsl N - 1) bxor (1 bsl I)):N>> || I <- lists:seq(0, N - 1), I rem 7 =:= 0] ++
        [A =:= <<(1 bsl N - 1):N>>, A =:= <<(1 bsl N - 1):(N + 1)>>].
