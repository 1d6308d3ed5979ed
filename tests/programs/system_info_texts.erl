%% What erlang:system_info/1 has as text or by area, and what the modules say whose functions are native in OTP.
-module(system_info_texts).
-export([main/1]).

main(_) ->
    Info = erlang:system_info(info),
    io:format("~p~n", [[binary:match(Info, Part) =/= nomatch ||
                        Part <- [<<"=memory\ntotal: ">>, <<"\nets: ">>, <<"=allocated_areas\n">>,
                                 <<"=index_table:atom_tab\n">>]]]),
    Loaded = erlang:system_info(loaded),
    io:format("~p~n", [[binary:match(Loaded, Part) =/= nomatch ||
                        Part <- [<<"Current code: ">>, <<"\nOld code: ">>, <<"\nsystem_info_texts ">>]]]),
    Waits = spawn(fun() -> register(waits_for_ever, self()), receive never -> ok end end),
    wait_until(fun() -> process_info(Waits, status) =:= {status, waiting} end),
    Procs = erlang:system_info(procs),
    [Before, Of] = binary:split(Procs, iolist_to_binary(["=proc:", pid_to_list(Waits), $\n])),
    [Text | _] = binary:split(Of, <<"=proc:">>),
    io:format("~p ~p~n", [byte_size(Before) > 0,
                          [binary:match(Text, Part) =/= nomatch ||
                           Part <- [<<"State: Waiting\n">>, <<"\nName: waits_for_ever\n">>,
                                    <<"\nSpawned as: erlang:apply/2\n">>, <<"\nMessage queue length: 0\n">>,
                                    <<"\nReductions: ">>, <<"system_info_texts:">>]]]),
    Areas = erlang:system_info(allocated_areas),
    {_, Total, Used} = lists:keyfind(atom_space, 1, Areas),
    io:format("~p ~p~n", [Total >= Used andalso Used > 0,
                          [is_integer(Bytes) || {Name, Bytes} <- Areas,
                                                lists:member(Name, [loaded_code, process_table])]]),
    {Allocator, Version, Features, Settings} = erlang:system_info(allocator),
    io:format("~p ~p ~p ~p~n", [Allocator, [is_integer(N) || N <- Version], lists:member(sys_alloc, Features),
                                lists:sublist(element(2, lists:keyfind(sys_alloc, 1, Settings)), 2)]),
    [io:format("~p ~p~n", [Item, [Pair || {Key, _} = Pair <- erlang:system_info(Item), Key =/= time,
                                          Key =/= resolution]]) ||
        Item <- [os_monotonic_time_source, os_system_time_source]],
    io:format("~p~n", [[is_list(Word) || Word <- lists:sublist(erlang:system_info(emu_args), 2)]]),
    io:format("~p~n", [[{M, lists:sort(M:module_info(nifs))} || M <- [erl_tracer, prim_file, zlib, prim_buffer, lists]]]),
    io:format("~p~n", [[{catch lists:module_info(Item), try ?MODULE:module_info(Item) catch error:badarg -> badarg end} ||
                        Item <- [native, native_addresses]]]),
    io:format("~p~n", [[try erlang:get_module_info(lists, Item) catch error:badarg -> badarg end ||
                        Item <- [native_code, imports]]]),
    io:format("~p~n", [erlang:fun_info(fun lists:map/2, refc)]),
    io:format("~p~n", [lists:sort([Key || {Key, _} <- erlang:system_info(compile_info)])]),
    trace_of_tracers().

%% erl_tracer:trace/5, for modules that pass on what they are told.
trace_of_tracers() ->
    ok = erl_tracer:trace(call, self(), tracee, {m, f, []}, #{}),
    ok = erl_tracer:trace(send, self(), tracee, message, #{extra => to}),
    ok = erl_tracer:trace(call, self(), tracee, {m, f, []}, #{match_spec_result => yes, scheduler_id => 1}),
    ok = erl_tracer:trace(seq_trace, self(), label, {send, 1}, #{}),
    ok = erl_tracer:trace(call, self(), tracee, {m, f, []}, #{timestamp => monotonic}),
    [receive
         {trace_ts, A, B, C, Time} -> io:format("~p~n", [{trace_ts, A, B, C, is_integer(Time)}]);
         Event -> io:format("~p~n", [Event])
     end || _ <- lists:seq(1, 5)].

wait_until(Done) ->
    case Done() of
        true -> ok;
        false -> erlang:yield(), wait_until(Done)
    end.
