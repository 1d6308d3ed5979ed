%% io:format: the directives in common use, several in one call, on standard output.
-module(io_format).
-export([main/1]).

main(_) ->
    T = {tuple, [1, "str", <<"bin">>, 'Quoted Atom'], #{k => 1.5}, [], <<1, 2, 3:4>>, [$a, 0]},
    io:format("~w~n~p~n", [T, T]),
    io:format("~~ ~c ~4c ~n", [$a, $b]),
    io:format("~tc ~5.3tc|~n", [8364, 229]),
    io:format("~s|~10s|~-10s|~10.5s|~-10.5s|~.3s|~10..*s|~n", ["abc", "abc", "abc", "abcdefghij",
                                                               "abcdefghij", "abcdef", $*, "pad"]),
    io:format("~s ~s ~s ~s~n", [<<"bin">>, atom, ["io", [<<"li">>, $s], "t"], ""]),
    io:format("~ts ~ts ~ts~n", ["åäö €", <<"åäö €"/utf8>>, 'ÅÄÖ']),
    io:format("~f ~.2f ~10.3f|~-10.3f|~e ~.3e ~g ~.4g ~g ~g~n",
              [1.5, 3.14159, 2.71828, 2.71828, 12345.678, 12345.678, 0.1, 123456.0, 1.0e10,
               1.0e-5]),
    io:format("~10.2.0f|~n", [3.14159]),
    io:format("~b ~B ~.16b ~.16B ~.2b ~10b|~-10b|~10..0b|~.36B~n",
              [10, -10, 255, 255, 5, 42, 42, 42, 123456789]),
    io:format("~.16x ~.16X ~.10# ~.16# ~.2# ~.16+ ~.8+~n", [255, "0x", 254, "0X", 1, 2, 3, 4, 5]),
    [io:format("~*w|~-*w|~n", [W, abc, W, abc]) || W <- [3, 4, 8]],
    [io:format("~s~s~n", [lists:duplicate(N, $ ), integer_to_list(N)]) || N <- lists:seq(0, 5)],
    io:format("~p ~p~n", ["list", [<<"a">>, 'b c', "d\n"]]),
    io:format("no arguments~n"),
    io:format(<<"binary format ~p~n">>, [x]),
    io:format('atom format ~p~n', [x]).
