%% What is appended, of each size, behind bit strings of each kind, by who owns them alone and who does not. Native code
%% has a way of its own for whole bytes behind whole bytes that nobody else has.
-module(bin_append_shapes).
-export([main/1, id/1]).

main(_) ->
    persistent_term:put(?MODULE, grown(300)),
    Bases = [<<>>, <<"short">>, binary:copy(<<"0123456789">>, 20), grown(100), binary:part(grown(100), 3, 50),
             binary:part(grown(100), 50, 50), <<(grown(90))/bits, 5:3>>, tail(grown(90)), ?MODULE:id(<<"a literal that is long enough to be "
             "in a binary of its own, which it is from 65 bytes on">>), persistent_term:get(?MODULE), <<1:7>>, self(), 17, [1]],
    [io:format("~w ~w~n", [N, [outcome(fun() -> append(N, B, V) end) || B <- Bases, V <- [0, 16#0123456789ABCDEF, -2]]])
     || N <- lists:seq(1, 22)],
    io:format("~w~n", [[outcome(fun() -> append(1, B, V) end) || B <- Bases, V <- [a, 1.0, 1 bsl 64, -(1 bsl 70)]]]),
    Characters = [0, 16#7F, 16#80, 16#7FF, 16#800, 16#FFF, 16#1000, 16#D7FF, 16#D800, 16#DFFF, 16#E000, 16#FFFE, 16#FFFF, 16#10000,
                  16#10FFFF, 16#110000, -1, 1 bsl 32, 1 bsl 70, a, 1.0],
    [io:format("~w ~w~n", [C, [outcome(fun() -> utf8(B, C) end) || B <- Bases]]) || C <- Characters],
    %% Versions of one bit string, each of which somebody still has.
    {Versions, Last} = lists:mapfoldl(fun(C, B) -> {B, utf8(B, C)} end, <<>>, [X || X <- lists:seq(1, 16#2000)]),
    true = lists:all(fun(V) -> binary:part(Last, 0, byte_size(V)) =:= V end, Versions),
    [First, Second] = [append(1, lists:nth(100, Versions), X) || X <- [1, 2]],
    io:format("~w ~w ~w~n", [erlang:phash2(Last), erlang:phash2(First), erlang:phash2(Second)]),
    %% With collections between, with a heap that fills up, in an accumulator of a comprehension.
    io:format("~w~n", [erlang:phash2(collected(2000, <<>>))]),
    io:format("~w~n", [erlang:phash2(with_garbage(20000, <<>>, []))]),
    io:format("~w~n", [erlang:phash2(<< <<X:16, (X rem 7):8>> || X <- lists:seq(1, 10000) >>)]),
    io:format("~w~n", [erlang:phash2(<< <<X/utf8>> || X <- lists:seq(1, 16#D000) >>)]),
    io:format("~w~n", [<< <<X:3>> || X <- lists:seq(1, 50) >>]),
    %% What a process sends it goes on with, and so does who got it.
    Self = self(),
    Mine = grown(200),
    Pid = spawn_link(fun() -> receive B -> Self ! [append(1, B, V) || V <- [1, 2, 3]] end end),
    Pid ! Mine,
    Own = [append(1, Mine, V) || V <- [4, 5]],
    io:format("~w~n", [[binary:last(B) || B <- Own ++ receive L -> L end]]),
    io:format("~w~n", [erlang:phash2(persistent_term:get(?MODULE))]),
    %% It fails behind what it has appended to.
    io:format("~w~n", [erlang:phash2(tries(1000, <<>>))]).

id(X) -> X.

outcome(F) ->
    try F() of B -> {bit_size(B), erlang:phash2(B)}
    catch C:R -> {C, R}
    end.

append(1, B, V) -> <<B/binary, V>>;
append(2, B, V) -> <<B/binary, V:16>>;
append(3, B, V) -> <<B/binary, V:24>>;
append(4, B, V) -> <<B/binary, V:32>>;
append(5, B, V) -> <<B/binary, V:40>>;
append(6, B, V) -> <<B/binary, V:48>>;
append(7, B, V) -> <<B/binary, V:56>>;
append(8, B, V) -> <<B/binary, V:64>>;
append(9, B, V) -> <<B/binary, V:32/little>>;
append(10, B, V) -> <<B/binary, V:64/little>>;
append(11, B, V) -> <<B/binary, V:16, V:8, V:16/little>>;
append(12, B, V) -> <<B/binary, V:4, V:4>>;
append(13, B, V) -> <<B/binary, V:4>>;
append(14, B, V) -> <<B/bits, V:8>>;
append(15, B, V) -> <<B/bits, V:16>>;
append(16, B, V) -> <<B/bits, V:3, V:5, V:8>>;
append(17, B, V) -> <<B/bits, V:9>>;
append(18, B, V) -> <<B/binary-unit:16, V:8>>;
append(19, B, V) -> <<B/binary-unit:64, V:8>>;
append(20, B, _) -> <<B/binary, "constant">>;
append(21, B, V) -> <<B/binary, "v", V:8, "w">>;
append(22, B, V) -> <<B/binary, V:128>>.

utf8(B, C) -> <<B/binary, C/utf8>>.

grown(N) -> grown(N, <<>>).
grown(0, B) -> B;
grown(N, B) -> grown(N - 1, <<B/binary, N>>).
tail(<<_:5, T/bits>>) -> T.

collected(0, B) -> B;
collected(N, B) ->
    N rem 50 =:= 0 andalso erlang:garbage_collect(),
    collected(N - 1, <<B/binary, N:16>>).

with_garbage(0, B, _) -> B;
with_garbage(N, B, G) -> with_garbage(N - 1, <<B/binary, N:8, "x">>, [{N, B} | lists:sublist(G, 5)]).

tries(0, B) -> B;
tries(N, B) -> tries(N - 1, try <<B/binary, (case N rem 3 of 0 -> a; R -> R end):8>> catch error:badarg -> <<B/binary, "!">> end).
