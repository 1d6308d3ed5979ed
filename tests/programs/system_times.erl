%% Where times begin and calendars end; sizes with sharing; settings of the collector.
-module(system_times).
-export([main/1]).

main(_) ->
    Dates = [{{Y, 1, 1}, {0, 0, 0}} || Y <- [-1, 0, 1, 1599, 1600, 1899, 1901, 1902, 1970, 10000, 1000000]],
    [io:format("~p ~p ~p ~p ~p~n",
               [D, result(universaltime_to_localtime, [D]), result(localtime_to_universaltime, [D]),
                result(localtime_to_universaltime, [D, true]), result(universaltime_to_posixtime, [D])])
     || D <- Dates],
    [io:format("~p ~p~n", [S, result(posixtime_to_universaltime, [S])])
     || S <- [0, -1, -2147483649, -62135596801, 1 bsl 41, 1 bsl 55, a]],
    Since = erlang:monotonic_time() - erlang:system_info(start_time),
    {Wall, _} = statistics(wall_clock),
    Ms = erlang:convert_time_unit(Since, native, millisecond),
    true = Ms >= 0 andalso abs(Ms - Wall) < 1000,
    List = lists:seq(1, 10),
    Twice = {List, List},
    io:format("~p~n", [[erts_debug:size_shared(T) || T <- [List, Twice, {Twice, Twice}, "literal", {a, "literal"}, 1]]]),
    io:format("~p ~p~n", [erlang:system_info(garbage_collection), erlang:system_info(tolerant_timeofday)]).

result(F, Args) ->
    try apply(erlang, F, Args) catch error:Reason -> Reason end.
