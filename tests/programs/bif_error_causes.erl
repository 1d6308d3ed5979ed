%% What erl_erts_errors and erl_stdlib_errors are told of bad arguments, in the order in which OTP looks at them.
-module(bif_error_causes).
-export([main/1]).

main(_) ->
    Dead = spawn(fun() -> ok end),
    Waiting = spawn(fun() -> receive stop -> ok end end),
    wait_for_end(Dead),
    [show(erlang, F, Args)
     || {F, Args} <-
            [{cancel_timer, [foo, foo]}, {cancel_timer, [foo, [foo]]}, {cancel_timer, [make_ref(), foo]},
             {cancel_timer, [foo]}, {read_timer, [foo, foo]},
             {suspend_process, [foo, foo]}, {suspend_process, [self(), foo]}, {suspend_process, [Waiting, foo]},
             {suspend_process, [Waiting, [foo]]},
             {send_after, [-1, -1, x]}, {send_after, [foo, -1, x]}, {send_after, [1, -1, x]},
             {send_after, [-1, self(), x]}, {send_after, [1 bsl 70, -1, x]}, {send_after, [-1, -1, x, foo]},
             {start_timer, [-1, -1, -1]}, {start_timer, [1, -1, -1]}, {start_timer, [-1, -1, -1, []]},
             {start_timer, [-1, -1, -1, foo]},
             {monitor_node, [foo, foo]}, {monitor_node, [foo, true]}, {monitor_node, [1, foo]},
             {monitor_node, [node(), foo]}, {monitor_node, [node(), true]},
             {monitor_node, [foo, true, foo]}, {monitor_node, [foo, true, [foo]]}, {monitor_node, [1, foo, foo]},
             {monitor_node, [node(), true, [foo]]}, {monitor_node, [node(), true, [allow_passive_connect]]},
             {monitor, [process, {a, 'x@y'}]}, {monitor, [process, {a, 'x@y'}, [{alias, demonitor}]]},
             {monitor, [process, {a, b, c}]}, {monitor, [port, {a, 'x@y'}]},
             {register, [cc, Dead]}, {register, [cc, bar]}, {register, [1, Dead]}, {register, [undefined, Dead]},
             {spawn_request, [fun() -> ok end, foo]}, {spawn_request, [foo, foo]},
             {spawn_request, [node(), fun() -> ok end, foo]}, {spawn_request, [a, b, [], foo]},
             {spawn_request, [node(), a, b, [], foo]}, {spawn_request, [1, b, [], foo]},
             {trace_pattern, [foo, foo, foo]}, {trace_pattern, [{a, b, 1}, foo, [foo]]},
             {trace_pattern, [{a, b, 1}, foo, []]}, {trace_pattern, [foo, true, []]}, {trace_pattern, [send, foo, foo]},
             {port_info, [foo, foo]}, {port_info, [foo, name]}, {port_info, [foo]}, {port_info, [1]},
             {port_info, [1, 2]}, {port_info, [1, name]}, {port_info, [{a}, name]}, {port_info, [self(), name]},
             {port_info, [list_to_port("#Port<0.9999>"), foo]}, {port_info, [a_port(), foo]},
             {port_info, [a_port(), 1]},
             {port_info, [binary_to_term(<<131, 89, 119, 3, "a@b", 0:32, 3:8, 0:24, 1:8>>), name]},
             {dt_spread_tag, [1]}, {dt_spread_tag, [foo]}, {dt_spread_tag, [false]}, {dt_restore_tag, [1]},
             {dt_restore_tag, [true]}]],
    Waiting ! stop,

    Set = ets:new(set, []),
    Ordered = ets:new(ordered, [ordered_set]),
    [show(ets, F, [C])
     || F <- [select, select_reverse, match, match_object],
        C <- [{1, 2}, {a}, {a, 1, 2, 3, 4, 5}, {}, [], foo, '$end_of_table', {Set, 1}, {Set, 1, 2, 3, 4, 5},
              {Set, 1, 2, 3, 4, 5, 6, 7}, {Ordered, 1, 2, 3, 4, 5, 6, 7}, {Ordered, 1, 2, 3, 4, 5}]],
    %% The table goes while a continuation waits.
    ets:insert(Set, [{I} || I <- lists:seq(1, 10)]),
    {_, C} = ets:select(Set, [{'$1', [], ['$1']}], 2),
    ets:delete(Set),
    show(ets, select, [setelement(2, C, place)]).

wait_for_end(Pid) ->
    Ref = monitor(process, Pid),
    receive {'DOWN', Ref, process, Pid, _} -> ok end.

a_port() -> open_port({spawn_executable, "/bin/cat"}, []).

show(M, F, Args) ->
    Result = try apply(M, F, Args) of
                 {Ref, _} when is_reference(Ref) -> ref;
                 R when is_reference(R) -> ref;
                 R -> R
             catch
                 C:E:Stack ->
                     [{M1, F1, As, Info} | _] = Stack,
                     {C, E, M1, F1, length(As), maps:without([module], proplists:get_value(error_info, Info, #{}))}
             end,
    io:format("~w:~w/~w ~0p -> ~0p~n", [M, F, length(Args), shown(Args), Result]).

shown(T) when is_pid(T) -> pid;
shown(T) when is_port(T) -> port;
shown(T) when is_reference(T) -> ref;
shown(T) when is_function(T) -> function;
shown([H | T]) -> [shown(H) | shown(T)];
shown(T) when is_tuple(T) -> list_to_tuple(shown(tuple_to_list(T)));
shown(T) -> T.
