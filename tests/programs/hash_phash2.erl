%% phash2 (and the older hashes) of terms of every kind and size.
-module(hash_phash2).
-export([main/1]).

main(_) ->
    Terms = [0, 1, -1, 255, 256, 65535, 16#7FFFFFF, 16#8000000, -16#8000000, -16#8000001,
             16#FFFFFFF, 16#10000000, 1 bsl 31, 1 bsl 32, (1 bsl 59) - 1, 1 bsl 59, 1 bsl 60,
             (1 bsl 63), -(1 bsl 63),
             1 bsl 64, (1 bsl 64) - 1, -(1 bsl 64), 1 bsl 100, -(1 bsl 100), 1 bsl 1000, 0.0, 1.0,
             -1.0, 1.5, 1.0e300, 5.0e-324, a, b, abc, '', 'åäö', true, false, undefined, [], [1],
                 [1, 2], [a], "abc",
             lists:seq(1, 100), lists:seq(250, 260), [a | b], [1 | 2], [[[]]], [[], []], {}, {a},
             {1, 2}, {{}, {}}, list_to_tuple(lists:seq(1, 20)), <<>>, <<1>>, <<"abc">>,
                 <<"abcdefghijklm">>,
             <<1:1>>, <<5:3>>, <<1, 2, 3, 1:4>>, binary:copy(<<"x">>, 1000), #{}, #{a => 1},
             #{a => 1, b => 2}, #{1 => #{2 => 3}},
                 maps:from_list([{I, I} || I <- lists:seq(1, 32)]),
             maps:from_list([{I, I} || I <- lists:seq(1, 33)]),
             maps:from_list([{{I}, [I]} || I <- lists:seq(1, 500)]), fun lists:map/2,
                 fun erlang:abs/1,
             [300, 1, 2, 3, 400], "string with å", [1, 2, 3 | tail],
             {ok, [{key, <<"value">>}, {other, 1.25, 'atom'}]}],
    [io:format("~p ~p ~p~n", [erlang:phash2(T), erlang:phash2(T, 1000),
                              erlang:phash2(T, 1 bsl 32)]) || T <- Terms],
    [io:format("~p ", [erlang:phash2(binary:part(<<"The quick brown fox jumps over the lazy dog">>,
                                                 0, N))]) || N <- lists:seq(0, 43)],
    io:nl(),
    [io:format("~p ", [erlang:phash2(lists:sublist("The quick brown fox jumps", N))])
     || N <- lists:seq(0, 25)],
    io:nl(),
    [io:format("~p ", [erlang:phash(T, 1 bsl 32)]) || T <- [1, -5, a, "abc", {a, 1}, <<"bin">>, 1.5,
                                                            1 bsl 70, []]],
    io:nl(),
    io:format("~p~n", [[try erlang:phash2(a, N) catch C:R -> {C, R} end
                        || N <- [1, 0, -1, a, (1 bsl 32), (1 bsl 32) + 1]]]),
    X = 1, F = fun() -> X end,
    io:format("~p~n", [erlang:phash2(F) =:= erlang:phash2(F)]),
    io:format("~p~n", [erlang:phash2(lists:seq(1, 100000))]),
    io:format("~p~n", [lists:sum([erlang:phash2({I, <<I:20>>}) || I <- lists:seq(1, 5000)])]).
