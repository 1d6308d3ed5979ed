%% Which limits open_port/2 takes: from 1 to one below the largest word, in any order.
-module(port_busy_limits).
-export([main/1]).

main(_) ->
    Max = 1 bsl 64 - 1,
    Pairs = [{0, 0}, {1, 0}, {1, 1}, {2, 1}, {-1, 4}, {Max - 1, Max - 1}, {Max - 1, 1}, {1, Max - 1}, {Max, Max},
             {Max, 1}, {1, Max}, {Max + 1, Max + 1}, {1, Max + 1}, {1 bsl 63, 1 bsl 63}, {1 bsl 60, 1 bsl 60}, {a, 1}],
    [io:format("~w ~w: ~w~n", [Name, Limits, open([{Name, Limits}])])
     || Name <- [busy_limits_port, busy_limits_msgq], Limits <- [disabled, nonsense | Pairs]].

open(Options) ->
    try open_port({spawn, "cat"}, Options) of
        Port -> port_close(Port)
    catch
        Class:Reason -> {Class, Reason}
    end.
