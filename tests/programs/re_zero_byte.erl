%% A zero byte ends a pattern (of OTP up to 27); a subject may hold any.
-module(re_zero_byte).
-export([start/0]).

start() ->
    Patterns = [<<0>>, <<"a", 0, "b">>, [$a, 0, $b], <<"a\\0b">>, <<"a\\x{0}b">>, <<"a", 0, "(">>, <<"(", 0, ")">>,
                <<"a\\", 0>>, <<"[", 0, "]">>],
    [show(Subject, Pattern, Options)
     || Subject <- [<<"a", 0, "b">>, <<"axb">>, <<>>, [$a, 0, $b]], Pattern <- Patterns,
        Options <- [[], [unicode], [caseless]]],
    [io:format("~0p: ~0p~n", [P, case re:compile(P, O) of {ok, _} -> ok; E -> E end])
     || P <- Patterns, O <- [[], [unicode]]],
    {ok, Compiled} = re:compile(<<"b", 0, "a">>),
    io:format("~p ~p~n", [re:run(<<"ab">>, Compiled), re:split(<<"abc">>, <<"b", 0, "a">>)]).

show(Subject, Pattern, Options) ->
    Result = try re:run(Subject, Pattern, Options) catch error:E -> E end,
    io:format("~0p ~0p ~0p: ~0p~n", [Subject, Pattern, Options, Result]).
