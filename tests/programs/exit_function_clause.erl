%% Status 127 for an error deep inside library code, with processes still running.
-module(exit_function_clause).
-export([main/1]).

main(_) ->
    [spawn(fun() -> receive after infinity -> ok end end) || _ <- lists:seq(1, 10)],
    io:format("ten processes~n"),
    lists:map(fun(X) -> X end, not_a_list).
