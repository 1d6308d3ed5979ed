%% Fields whose size the compiler knows, of every small size at every bit offset, signed and not, big
%% and little, there and cut off: engines have instructions of their own for them.
-module(bin_match_small_fields).
-export([main/1]).

-define(FIELD(N),
        field(N, O, B) ->
            {try <<_:O, V:N, _/bits>> = B, V catch error:_ -> short end,
             try <<_:O, V:N/signed, _/bits>> = B, V catch error:_ -> short end,
             try <<_:O, V:N/little, _/bits>> = B, V catch error:_ -> short end,
             try <<_:O, V:N/signed-little, _/bits>> = B, V catch error:_ -> short end,
             %% two in a row, and what is left
             case B of
                 <<_:O, V:N, W:N/signed-native, R/bits>> -> {V, W, erlang:phash2(R)};
                 _ -> short
             end}).

main(_) ->
    Bytes = << <<(I * 37 + I bsr 3)>> || I <- lists:seq(200, 239) >>,
    Large = binary:copy(Bytes, 10),                     % not on the heap
    Part = binary:part(Large, 5, 40),
    Odd = begin <<_:3, T/bits>> = Large, T end,
    [begin
         Results = [field(N, O, B) || O <- lists:seq(0, 8),
                                      B <- [Bytes, Part, Odd, <<>>, <<255>>, <<16#8001:16>>,
                                            <<16#80000001:32>>, <<-1:56>>, <<-2:67>>]],
         io:format("~p ~p ~p~n", [N, erlang:phash2(Results), hd(Results)])
     end || N <- sizes()],
    ok.

sizes() -> [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
            23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42,
            43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
            63, 64, 65, 66, 71, 72, 80, 127, 128].

?FIELD(0); ?FIELD(1); ?FIELD(2); ?FIELD(3); ?FIELD(4); ?FIELD(5); ?FIELD(6); ?FIELD(7);
?FIELD(8); ?FIELD(9); ?FIELD(10); ?FIELD(11); ?FIELD(12); ?FIELD(13); ?FIELD(14); ?FIELD(15);
?FIELD(16); ?FIELD(17); ?FIELD(18); ?FIELD(19); ?FIELD(20); ?FIELD(21); ?FIELD(22);
?FIELD(23); ?FIELD(24); ?FIELD(25); ?FIELD(26); ?FIELD(27); ?FIELD(28); ?FIELD(29);
?FIELD(30); ?FIELD(31); ?FIELD(32); ?FIELD(33); ?FIELD(34); ?FIELD(35); ?FIELD(36);
?FIELD(37); ?FIELD(38); ?FIELD(39); ?FIELD(40); ?FIELD(41); ?FIELD(42); ?FIELD(43);
?FIELD(44); ?FIELD(45); ?FIELD(46); ?FIELD(47); ?FIELD(48); ?FIELD(49); ?FIELD(50);
?FIELD(51); ?FIELD(52); ?FIELD(53); ?FIELD(54); ?FIELD(55); ?FIELD(56); ?FIELD(57);
?FIELD(58); ?FIELD(59); ?FIELD(60); ?FIELD(61); ?FIELD(62); ?FIELD(63); ?FIELD(64);
?FIELD(65); ?FIELD(66); ?FIELD(71); ?FIELD(72); ?FIELD(80); ?FIELD(127); ?FIELD(128).
