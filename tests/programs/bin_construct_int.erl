%% Integer segments: every size from 1 to 72 bits and beyond, both endians, at every bit offset.
-module(bin_construct_int).
-export([main/1, id/1]).

main(_) ->
    Values = [0, 1, -1, 16#5A, 16#DEADBEEFCAFEBABE, -16#DEADBEEFCAFE, 1 bsl 59, -(1 bsl 60),
              (1 bsl 100) + 12345, -(1 bsl 100) - 777],
    [io:format("~w ~w: ~p ~p~n", [V, S, hex(<<V:S, 0:((8 - S rem 8) rem 8)>>),
                                  hex(<<V:S/little, 0:((8 - S rem 8) rem 8)>>)])
     || V <- Values, S <- lists:seq(1, 72) ++ [96, 127, 128, 129, 200]],
    %% shifted by 1..7 bits, then read back from there
    [begin
         Mask = (1 bsl S) - 1, U = V band Mask,
         Signed = if S > 0, U band (1 bsl (S - 1)) =/= 0 -> U - (1 bsl S); true -> U end,
         B = <<0:Off, V:S, 1:1>>, L = <<0:Off, V:S/little, 1:1>>,
         <<_:Off, U:S/unsigned, 1:1>> = B,
         <<_:Off, Signed:S/signed, 1:1>> = B,
         <<_:Off, U:S/little-unsigned, 1:1>> = L,
         <<_:Off, Signed:S/little-signed, 1:1>> = L
     end || V <- Values, S <- [1, 3, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 59, 60, 61, 63,
                               64, 65, 100, 128], Off <- lists:seq(0, 8)],
    X = id(16#1234),
    io:format("~p~n", [<<X, X:16, X:16/little, X:12, X:4>>]),
    io:format("~p ~p~n", [<<X:16/native>> =:= <<X:16/little>>, <<X:2/unit:8>>]),
    io:format("~p~n", [<<(id(-1)):20, (id(0)):4>>]),
    io:format("~p~n", [<<(id(1)):(id(3)), (id(2)):(id(5))>>]),
    io:format("~p~n",
              [[error_of(F) || F <- [fun() -> <<(id(a)):8>> end, fun() -> <<(id(1.0)):8>> end,
                                     fun() -> <<1:(id(a))>> end,
                                            fun() -> <<1:(id(-8))>> end,
                                            fun() -> <<(id(<<>>)):8>> end,
                                                fun() -> <<1:(id(1 bsl 70))>> end]]]),
    io:format("~p~n", [<<>>]),
    io:format("~p~n", [<<1, 2, 3, "abc", $d, "é"/utf8, 0:3>>]),
    io:format("~p~n", [<<"wide":16, "le":32/little>>]),
    io:format("~p~n", [<<1:1, 0:1, 1:1>>]).

hex(B) -> binary:encode_hex(B).
error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
