%% What process_flag/2,3 say of flags and values that are wrong, with what stands beside it in the stack.
-module(process_flag_errors).
-export([main/1]).

main(_) ->
    P = spawn(fun() -> receive stop -> ok end end),
    Gone = spawn(fun() -> ok end),
    M = monitor(process, Gone),
    receive {'DOWN', M, _, _, _} -> ok end,
    [io:format("~p ~p ~p~n", [F, V, error_of(fun() -> process_flag(F, V) end)])
     || {F, V} <- [{foo, 1}, {1, 2}, {{}, x}, {trap_exit, foo}, {min_heap_size, foo}, {min_heap_size, -1}, {sensitive, foo},
                   {priority, foo}, {save_calls, -1}, {save_calls, 10001}, {message_queue_data, foo}, {error_handler, 1},
                   {max_heap_size, foo}, {fullsweep_after, -1}, {monitor_nodes, foo}]],
    [io:format("~p~n", [error_of(fun() -> process_flag(Who, F, V) end)])
     || {Who, F, V} <- [{P, foo, 1}, {P, trap_exit, true}, {P, save_calls, foo}, {P, save_calls, 10001}, {self(), foo, 1},
                        {foo, save_calls, 1}, {foo, foo, 1}, {1, 2, 3}, {Gone, save_calls, 1}, {Gone, foo, 1}, {P, save_calls, 0}]],
    P ! stop.

error_of(F) ->
    try F()
    catch error:Reason:Stack -> {Reason, element(4, hd(Stack))}
    end.
