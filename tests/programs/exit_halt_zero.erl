%% halt() and halt(0) from another process give status 0.
-module(exit_halt_zero).
-export([main/1]).

main(_) ->
    io:format("waiting~n"),
    spawn(fun() -> io:format("halting~n"), halt() end),
    receive after infinity -> ok end.
