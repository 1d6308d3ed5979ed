%% utf8, utf16 and utf32 segments: construction, matching, skipping, every kind of malformed input.
-module(bin_utf).
-export([main/1, id/1]).

main(_) ->
    Chars = [0, 16#41, 16#7F, 16#80, 16#E4, 16#7FF, 16#800, 16#20AC, 16#D7FF, 16#E000, 16#FFFD,
             16#FFFE, 16#FFFF, 16#10000, 16#1F600, 16#10FFFF],
    [io:format("~.16B ~p ~p ~p ~p ~p~n",
               [C | [binary:encode_hex(B) || B <- [<<C/utf8>>, <<C/utf16>>, <<C/utf16-little>>,
                                                   <<C/utf32>>, <<C/utf32-little>>]]])
     || C <- Chars],
    [begin
         <<C/utf8, 1>> = <<C/utf8, 1>>, <<C/utf16, 1>> = <<C/utf16, 1>>,
         <<C/utf16-little, 1>> = <<C/utf16-little, 1>>,
         <<C/utf32, 1>> = <<C/utf32, 1>>, <<C/utf32-little, 1>> = <<C/utf32-little, 1>>,
         <<_:5, C/utf8, 3:3>> = <<0:5, C/utf8, 3:3>>, <<_:3, C/utf16, 3:5>> = <<0:3, C/utf16, 3:5>>,
         <<_:7, C/utf32, 1:1>> = <<0:7, C/utf32, 1:1>>
     end || C <- Chars],
    [io:format("~p ~p ~p ~p~n", [try_(fun() -> <<(id(C))/utf8>> end),
                                 try_(fun() -> <<(id(C))/utf16>> end),
                                 try_(fun() -> <<(id(C))/utf32>> end), C])
     || C <- [-1, 16#D800, 16#DFFF, 16#110000, 1 bsl 70, a, 1.0]],
    Bad = [<<16#80>>, <<16#C0, 16#80>>, <<16#C1, 16#BF>>, <<16#C2>>, <<16#C2, 16#41>>,
           <<16#E0, 16#80, 16#80>>, <<16#E0, 16#9F, 16#BF>>, <<16#ED, 16#A0, 16#80>>,
           <<16#E2, 16#82>>, <<16#F0, 16#8F, 16#BF, 16#BF>>, <<16#F4, 16#90, 16#80, 16#80>>,
           <<16#F5, 16#80, 16#80, 16#80>>, <<16#F0, 16#9F, 16#98>>, <<16#FF>>, <<>>, <<1:7>>],
    [io:format("~p ~p ~p~n", [B, m8(B), skip8(B)]) || B <- Bad],
    Bad16 = [<<16#D8, 0>>, <<16#D8, 0, 0, 16#41>>, <<16#DC, 0, 16#D8, 0>>, <<16#D8, 0, 16#DC, 0>>,
             <<16#DB, 16#FF, 16#DF, 16#FF>>, <<0>>, <<0, 16#41>>],
    [io:format("~p ~p ~p~n", [B, m16(B), m16l(B)]) || B <- Bad16],
    %% No surrogate and nothing above 16#10FFFF here: matching those as utf32 kills the oracle
    %% (OTP 25.2 on x86-64) with a segmentation fault.
    Bad32 = [<<16#10FFFF:32>>, <<0, 0, 1>>, <<16#41:32>>],
    [io:format("~p ~p~n", [B, m32(B)]) || B <- Bad32],
    io:format("~w~n", [decode(<<"aé€😀z"/utf8>>)]),
    io:format("~w~n", [decode(<<"aé"/utf8, 255, "b">>)]),
    io:format("~w~n", [<< <<C/utf16>> || <<C/utf8>> <= <<"aé€😀"/utf8>> >>]),
    io:format("~w~n", [[C || <<C/utf8>> <= <<"aé", 16#E9, "x">>]]),
    io:format("~w~n", [<<"smörgås"/utf8>>]),
    io:format("~w~n", [<<"hej"/utf16, "då"/utf32-little>>]),
    io:format("~p~n", [starts(<<"é…"/utf8>>)]).

m8(<<C/utf8, R/bits>>) -> {C, R}; m8(_) -> no.
skip8(<<_/utf8, R/bits>>) -> R; skip8(_) -> no.
m16(<<C/utf16, _/bits>>) -> C; m16(_) -> no.
m16l(<<C/utf16-little, _/bits>>) -> C; m16l(_) -> no.
m32(<<C/utf32, _/bits>>) -> C; m32(_) -> no.
decode(<<C/utf8, T/binary>>) -> [C | decode(T)];
decode(<<>>) -> [];
decode(Rest) -> [{bad, Rest}].
starts(<<"é"/utf8, R/binary>>) -> {e_acute, R};
starts(_) -> other.
try_(F) -> try F() catch error:R -> R end.
id(X) -> X.
