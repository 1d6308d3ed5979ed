%% max_heap_size did not count messages that wait.
-module(proc_max_heap_messages).
-export([main/1]).

main(_) ->
    [io:format("~p: ~p~n", [Options, outcome(Options)])
     || Options <- [[{message_queue_data, on_heap}], [{message_queue_data, off_heap}]]].

outcome(Options) ->
    {Pid, Ref} = spawn_opt(fun() -> receive stop -> ok end end,
                           [monitor, {max_heap_size, #{size => 2000, error_logger => false}} | Options]),
    [Pid ! lists:duplicate(100, N) || N <- lists:seq(1, 100)],
    process_info(Pid, messages),
    erlang:garbage_collect(Pid),
    Pid ! stop,
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end.
