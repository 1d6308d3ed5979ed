%% erts_debug:set_internal_state/2: undefined until switched on; small loop limits make BIFs that work
%% in slices yield, which must not change what they compute.
-module(internal_state_switches).
-export([main/1]).

main(_) ->
    undef = try erts_debug:set_internal_state(reds_left, 1) catch error:E -> E end,
    false = erts_debug:set_internal_state(available_internal_state, true),
    true = erts_debug:set_internal_state(available_internal_state, true),
    Text = list_to_binary(lists:duplicate(500, "abc def, ghij")),
    Compute = fun() ->
                      {binary:matches(Text, <<"def">>), binary:split(Text, [<<",">>, <<"b">>], [global]),
                       binary:longest_common_prefix([Text, <<Text/binary, 1>>]),
                       unicode:characters_to_list(Text), binary:replace(Text, <<"g">>, <<"G">>, [global]),
                       binary:copy(Text, 20), iolist_to_binary([binary_to_list(Text), Text]),
                       unicode:characters_to_binary([[228, 8364, "abc"], Text, [<<"x">> | <<"y">>]]),
                       binary_to_term(term_to_binary({Text, lists:seq(1, 300)})),
                       re:run(Text, "gh+i", [{capture, all, index}]), list_to_binary([Text, "z"])}
              end,
    All = Compute(),
    [begin
         erts_debug:set_internal_state(binary_loop_limit, N),
         erts_debug:set_internal_state(unicode_loop_limit, N),
         All = Compute()
     end || N <- [10, 100]],
    %% A match has no slices: this one changes nothing, nor what prints.
    erts_debug:set_internal_state(re_loop_limit, 1),
    All = Compute(),
    io:format("~p ~ts~n", [element(10, All), [228, 8364]]),
    erts_debug:set_internal_state(re_loop_limit, default),
    erts_debug:set_internal_state(binary_loop_limit, default),
    erts_debug:set_internal_state(unicode_loop_limit, default),
    [io:format("~p ~p~n", [N, erts_debug:set_internal_state(binary, N) =:= binary:copy(<<0>>, N)]) || N <- [1, 61, 70]],
    true = erts_debug:set_internal_state(reds_left, 10),
    notsup = erts_debug:set_internal_state(ets_force_trap, true),
    true = erts_debug:set_internal_state(available_internal_state, false),
    undef = try erts_debug:get_internal_state(reds_left) catch error:E2 -> E2 end,
    io:format("~p ~p ~p ~p~n", [erlang:system_info(I) || I <- [endian, heap_type, context_reductions,
                                                              modified_timing_level]]),
    true = lists:member({lists, keyfind, 3}, erlang:system_info(snifs)),
    Before = erlang:system_info(ets_count),
    T = ets:new(t, []),
    Before = erlang:system_info(ets_count) - 1,
    ets:delete(T),
    Before = erlang:system_info(ets_count),
    io:format("done~n").
