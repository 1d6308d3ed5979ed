%% halt(N) ends at once with status N; output before it is flushed.
-module(exit_halt).
-export([main/1]).

main(_) ->
    io:format("before~n"),
    spawn(fun() -> receive after infinity -> ok end end),
    io:put_chars(lists:duplicate(5000, "0123456789\n")),
    halt(3),
    io:format("never~n").
