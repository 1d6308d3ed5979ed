%% Appending in a loop (the writable binary), with old versions still in use, and building from
%% parts.
-module(bin_append).
-export([main/1]).

main(_) ->
    B = loop(100000, <<>>),
    io:format("~p ~p~n", [byte_size(B), erlang:phash2(B)]),
    %% two continuations of one prefix must not see each other
    P = loop(1000, <<"prefix">>),
    P1 = <<P/binary, "one">>, P2 = <<P/binary, "two">>, P3 = <<P1/binary, "three">>,
    P4 = <<P1/binary, "four">>,
    io:format("~p~n", [[binary:part(X, byte_size(X), -8) || X <- [P, P1, P2, P3, P4]]]),
    Versions = lists:foldl(fun(I, [H | _] = Acc) -> [<<H/binary, I>> | Acc] end, [<<>>],
                           lists:seq(1, 300)),
    io:format("~p~n", [erlang:phash2(Versions)]),
    [I = byte_size(V) || {I, V} <- lists:zip(lists:seq(0, 300), lists:reverse(Versions))],
    io:format("~p~n", [bits(1000, <<>>)]),
    Parent = self(),
    Pid = spawn(fun() -> receive {bin, X} -> Parent ! {back, <<X/binary, "-from-child">>} end end),
    Own = <<P/binary, "-before">>,
    Pid ! {bin, Own},
    Own2 = <<Own/binary, "-from-parent">>,
    receive {back, Y} -> io:format("~p ~p~n", [binary:part(Y, byte_size(Y), -20),
                                               binary:part(Own2, byte_size(Own2), -20)]) end,
    erlang:garbage_collect(),
    io:format("~p ~p~n", [byte_size(Own), byte_size(P)]),
    io:format("~p~n", [iolist_size([P, [P1 | P2]])]),
    io:format("~p~n", [lists:foldl(fun(W, <<>>) -> W; (W, A) -> <<A/binary, ", ", W/binary>> end,
                                   <<>>, [<<"a">>, <<"bb">>, <<"ccc">>])]),
    io:format("~p~n", [mixed(lists:seq(1, 20), <<>>)]),
    io:format("~p~n", [prepend(30, <<>>)]).

loop(0, B) -> B;
loop(N, B) -> loop(N - 1, <<B/binary, (N * 31), N:16/little>>).

bits(0, B) -> {bit_size(B), erlang:phash2(B)};
bits(N, B) -> bits(N - 1, <<B/bits, N:(N rem 13)>>).

mixed([], B) -> B;
mixed([N | T], B) when N rem 3 =:= 0 -> mixed(T, <<B/bits, N/float>>);
mixed([N | T], B) when N rem 3 =:= 1 -> mixed(T, <<B/bits, N:5>>);
mixed([N | T], B) -> mixed(T, <<B/bits, (N + 200)/utf8>>).

prepend(0, B) -> B;
prepend(N, B) -> prepend(N - 1, <<N, B/binary>>).
