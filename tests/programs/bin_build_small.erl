%% Bit strings of a few fields of constant size, alone and behind another one, with what does not
%% fit: large and negative integers, terms that are none, binaries that others hold too.
-module(bin_build_small).
-export([main/1]).

main(_) ->
    Values = [0, 1, -1, 5, 127, 128, 255, 256, -129, 16#12345678, 1 bsl 59, (1 bsl 60) - 1,
              -(1 bsl 60), 1 bsl 60, 1 bsl 63, -(1 bsl 64), (1 bsl 70) + 3, 16#D7FF, 16#D800,
              16#10FFFF, 16#110000, 1.5, a, [], <<"x">>],
    io:format("~p~n", [erlang:phash2([alone(A, B, V) || V <- Values, A <- [7, V], B <- [-3, V]])]),
    Bases = [<<>>, <<"ab">>, <<5:3>>, binary:copy(<<"z">>, 100), <<(binary:copy(<<"y">>, 70))/binary, 1:1>>,
             grown(<<>>, 70), grown(<<1:5>>, 70), [], 7],
    io:format("~p~n", [erlang:phash2([behind(Base, V) || V <- Values, Base <- Bases])]),
    io:format("~w~n", [[alone(V, 2, 3) || V <- [1, -1, 1 bsl 62, x]]]),
    io:format("~w~n", [[behind(<<6:3>>, V) || V <- [1, -1, 1 bsl 62, x]]]),
    shared(grown(<<>>, 30)),
    shared(grown(<<3:2>>, 30)),
    io:format("~p~n", [byte_size(loop(20000, <<>>))]),
    io:format("~p~n", [erlang:phash2(kept(300, <<>>, []))]).

alone(A, B, C) ->
    [t(fun() -> <<A:8>> end), t(fun() -> <<A:64>> end), t(fun() -> <<A:61, 5:3>> end),
     t(fun() -> <<A:62, 1:1>> end), t(fun() -> <<1:1, A:63>> end),
     t(fun() -> <<A:64/little>> end), t(fun() -> <<A:16/little, B:24/little, C:24>> end),
     t(fun() -> <<A:3, B:13, C:1>> end), t(fun() -> <<A:32/native, "text">> end),
     t(fun() -> <<"ab", A:9, "c", B:7>> end), t(fun() -> <<17:5, A:2, -1:9, B:8/little>> end),
     t(fun() -> <<A:48, B:17>> end), t(fun() -> <<A:8/unit:7>> end), t(fun() -> <<A:0, B:8>> end),
     t(fun() -> <<1, 2, 3>> end), t(fun() -> <<A:2, B:2, C:2, A:2, B:2, C:2, A:2>> end)].

behind(X, A) ->
    [t(fun() -> <<X/bits, A:8>> end), t(fun() -> <<X/binary, A>> end),
     t(fun() -> <<X/bits, A:1>> end), t(fun() -> <<X/bits, 3:2, A:5, A:16/little>> end),
     t(fun() -> <<X/bits, A:64>> end), t(fun() -> <<X/bits, "tail">> end),
     t(fun() -> <<X/bits, A/utf8>> end), t(fun() -> <<X/binary, A/utf8>> end),
     t(fun() -> <<X/bits, A:57, 1:7>> end), t(fun() -> <<X:3/binary-unit:4, A:8>> end),
     t(fun() -> {<<X/bits, A:4>>, <<X/bits, 9:4>>, X} end)].

t(F) -> try F() catch error:R -> R end.

grown(B, 0) -> B;
grown(B, N) -> grown(<<B/bits, N:8>>, N - 1).

%% Appended to twice, and by another process: what was there stays.
shared(B) ->
    One = <<B/bits, 1:4>>,
    Two = <<B/bits, 2:4>>,
    {_, Ref} = spawn_monitor(fun() -> exit({<<B/bits, 3:4>>, <<One/bits, 4:4>>, grown(B, 40)}) end),
    Three = <<One/bits, 5:8>>,
    receive {'DOWN', Ref, _, _, {A, C, D}} -> ok end,
    Size = bit_size(B),
    [<<B:Size/bits, _/bits>> = X || X <- [One, Two, Three, A, C, D]],
    io:format("~w~n", [[bits_behind(X, Size) || X <- [One, Two, Three, A, C]]]),
    io:format("~p~n", [erlang:phash2({B, D})]).

bits_behind(X, Size) -> <<_:Size, R/bits>> = X, R.

%% The heap fills up while it runs.
loop(0, B) -> B;
loop(N, B) ->
    {N, _, <<N:40, 7>>} = {N, <<N:24>>, <<N:40, 7>>},
    loop(N - 1, <<B/binary, (N band 127)/utf8>>).

kept(0, _, Acc) -> Acc;
kept(N, B, Acc) ->
    B1 = <<B/bits, N:11>>,
    kept(N - 1, B1, [B1, <<B1/bits, 1:1>>, <<N:33, "x", N:5>> | Acc]).
