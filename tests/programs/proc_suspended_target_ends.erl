%% A process that is suspended ends: nobody suspends it any more.
-module(proc_suspended_target_ends).
-export([main/1]).

main(_) ->
    {P, Ref} = spawn_monitor(fun() -> receive never -> ok end end),
    true = erlang:suspend_process(P),
    true = erlang:suspend_process(P),
    io:format("~p~n", [process_info(self(), suspending) =:= {suspending, [{P, 2, 0}]}]),
    exit(P, kill),
    receive {'DOWN', Ref, process, P, Reason} -> io:format("~p~n", [Reason]) end,
    io:format("~p~n", [process_info(self(), suspending)]),
    io:format("~p~n", [[try F(P) catch error:Why -> Why end || F <- [fun erlang:resume_process/1, fun erlang:suspend_process/1,
                                                                    fun erlang:resume_process/1]]]).
