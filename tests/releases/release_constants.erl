%% What a program sees of the release whose libraries are in use.
-module(release_constants).
-export([main/1]).

main(_) ->
    [io:format("~p ~p~n", [Item, erlang:system_info(Item)])
     || Item <- [otp_release, version, nif_version, driver_version, compat_rel, constant_pool_support,
                 delayed_node_table_gc, dist_buf_busy_limit, dynamic_trace_probes, ets_realloc_moves,
                 hipe_architecture, io_thread, literal_test, message_queue_data, port_parallelism,
                 port_tasks, time_offset, update_cpu_info, break_ignored, eager_check_io]],
    io:format("~p~n", [try erlang:system_info(max_integer) of
                           Max -> {byte_size(binary:encode_unsigned(Max)), try Max + 1 catch error:Why -> Why end}
                       catch error:badarg -> none
                       end]),
    io:format("~p~n", [try 1 bsl list_to_integer(os:getenv("NO_SUCH_NAME", "4194304")) of _ -> ok catch error:Reason -> Reason end]),
    %% The external term format.
    Terms = [a, 'ä', 'Ω', {a, [b]}, #{a => 1}, list_to_atom(lists:duplicate(200, $ä)), 1.5, fun lists:map/2],
    [io:format("~w~n", [{term_to_binary(T), term_to_binary(T, [{minor_version, V} || V <- [1]]),
                         erlang:external_size(T), iolist_to_binary(term_to_iovec(T)),
                         [term_to_binary(T, [{minor_version, V}]) || V <- [0, 1, 2]],
                         term_to_binary(T, [deterministic]), T =:= binary_to_term(term_to_binary(T))}])
     || T <- Terms],
    [io:format("~w~n", [catch erlang:external_size(a, [{minor_version, V}])] ) || V <- [0, 1]].
