%% Bit strings that are no whole bytes: printing, comparing, slicing, concatenating, at every
%% offset.
-module(bin_bitstrings).
-export([main/1, id/1]).

main(_) ->
    B = <<16#DEADBEEF12345678:64, 5:3>>,
    io:format("~p ~w ~p ~p~n", [B, B, bit_size(B), byte_size(B)]),
    [begin
         <<_:O, S:L/bits, _/bits>> = B,
         io:format("~w ", [S])
     end || O <- lists:seq(0, 9), L <- [0, 1, 5, 8, 13, 16, 40, 57]],
    io:nl(),
    %% a slice equals the same bits built anew, whatever its offset
    [begin
         <<_:O, S:L/bits, _/bits>> = B,
         New = << <<Bit:1>> || <<Bit:1>> <= S >>,
         true = S =:= New, true = S == New, false = S < New,
         true = erlang:phash2(S) =:= erlang:phash2(New),
         true = term_to_binary(S) =:= term_to_binary(New),
         #{S := found} = #{New => found}
     end || O <- lists:seq(0, 20), L <- lists:seq(0, 45)],
    io:format("~p~n", [[<<A/bits, C/bits>> || A <- [<<>>, <<1:1>>, <<2:3>>, <<255>>, <<1, 1:4>>],
                        C <- [<<>>, <<1:1>>, <<3, 1:2>>]]]),
    io:format("~p~n", [lists:sort([<<1:1>>, <<1:2>>, <<0:1>>, <<>>, <<128>>, <<127>>, <<1:9>>,
                                   <<2:9>>, <<255:8, 1:1>>, <<255>>])]),
    io:format("~p~n",
              [[{is_binary(X), is_bitstring(X)} || X <- [<<>>, <<1:1>>, <<1:8>>, <<1:16>>]]]),
    io:format("~p~n", [bitstring_to_list(<<1, 2, 3:4>>)]),
    io:format("~p~n", [list_to_bitstring([1, <<2:4>>, [3, <<1:1>>]])]),
    io:format("~p~n",
              [[try_(F) || F <- [fun() -> binary_to_list(id(<<1:1>>)) end,
                                 fun() -> byte_size(id(a)) end,
                                 fun() -> list_to_binary([id(<<1:1>>)]) end,
                                        fun() -> <<(id(<<1:1>>))/binary>> end,
                                        fun() -> <<(id(<<1, 2>>)):3/binary>> end,
                                        fun() -> <<(id(<<1, 2, 3>>)):2/binary>> end,
                                        fun() -> <<(id(<<255, 255>>)):9/bits>> end,
                                        fun() -> <<(id(<<255>>)):9/bits>> end,
                                        fun() -> bit_size(id([])) end,
                                        fun() -> <<(id(abc))/bits>> end,
                                        fun() -> binary_to_atom(id(<<1:1>>)) end]]]),
    io:format("~w~n", [reverse_bits(<<16#12345:20>>)]),
    io:format("~w~n", [rot(<<1:1, 0:12>>, 5)]),
    io:format("~w~n", [<< <<(X bxor 1):1>> || <<X:1>> <= <<16#F0, 5:3>> >>]),
    io:format("~p~n", [unit(<<1, 2, 3, 4, 5:4>>)]).

reverse_bits(B) -> lists:foldl(fun(X, A) -> <<X:1, A/bits>> end, <<>>, [X || <<X:1>> <= B]).
rot(B, 0) -> B;
rot(<<H:1, T/bits>>, N) -> rot(<<T/bits, H:1>>, N - 1).
unit(<<A:2/binary-unit:12, R/bits>>) -> {A, R}.
try_(F) -> try F() catch error:R -> R end.
id(X) -> X.
