%% A ring of 100,000 processes that all live at once: three rounds, then the end goes round.
-module(proc_ring_large).
-export([main/1]).

-define(SIZE, 100000).

main(_) ->
    Before = erlang:system_info(process_count),
    Last = lists:foldl(fun(_, Next) -> spawn(fun() -> relay(Next) end) end, self(),
                       lists:seq(1, ?SIZE)),
    io:format("~p~n", [erlang:system_info(process_count) - Before >= ?SIZE]),
    io:format("~p~n", [rounds(Last, 3, 0)]),
    Monitor = monitor(process, Last),
    Last ! stop,
    receive {'DOWN', Monitor, process, Last, Reason} -> io:format("~p~n", [Reason]) end,
    receive stop -> io:format("stopped~n") end.

relay(Next) ->
    receive
        stop -> Next ! stop;
        N -> Next ! N + 1, relay(Next)
    end.

rounds(_Last, 0, Count) -> Count;
rounds(Last, Left, Count) ->
    Last ! Count,
    receive N -> rounds(Last, Left - 1, N) end.
