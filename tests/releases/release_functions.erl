%% Functions that only later releases have: what they do is what that release's do. Nothing for a release
%% that does not have them.
-module(release_functions).
-export([main/1, callback/0]).

main(_) ->
    Release = list_to_integer(erlang:system_info(otp_release)),
    Release >= 27 andalso coverage(),
    Release >= 27 andalso one_key(),
    io:format("~p~n", [os:cmd("echo from the shell")]),
    floats(),
    prefixes(),
    guards(),
    signals(),
    items(),
    traced(),
    Release >= 27 andalso show(fun() -> binary:referenced_byte_size(<<5:3>>) end),
    Release >= 26 andalso stacks(),
    decoded(),
    tables(),
    Release >= 27 andalso default_objects(),
    Release >= 29 andalso too_long(),
    Release >= 28 andalso monitors(),
    Release >= 28 andalso heirs(),
    Release >= 28 andalso priorities(),
    Release >= 28 andalso hibernate(),
    Release >= 28 andalso show(fun() -> [apply(code, get_debug_info, [M]) || M <- [lists, ?MODULE]] end),
    Release >= 28 andalso [show(fun() -> apply(code, get_debug_info, [M]) end) || M <- [no_such_module, 1, {}]].

%% Which double stands for a large integer: the nearest one only from OTP 29 on.
floats() ->
    rand:seed(exsss, 29),
    Large = [428654966685883400000, 38409289721754710000, 34784104853086640000, (1 bsl 1024) - (1 bsl 970),
             (1 bsl 1024) - (1 bsl 970) - 1, (1 bsl 1024) - 1, (1 bsl 117) + (1 bsl 64), (1 bsl 117) + (1 bsl 64) + 1]
        ++ [rand:uniform(1 bsl N) bsl M || N <- lists:seq(60, 300, 3), M <- [0, 1, 40, 64]],
    [io:format("~p~n", [[try F(I) catch error:badarg -> badarg; error:badarith -> badarith end
                         || F <- [fun(X) -> float(X) end, fun(X) -> -X * 1.0 end, fun(X) -> 3.0 / X end,
                                  fun(X) -> <<X/float>> end]]]) || I <- Large].

%% A head that is the beginning of a call's arguments: before OTP 29 no proper list.
prefixes() ->
    [io:format("~p~n", [erlang:match_spec_test(Args, [{Head, Guards, Body}], trace)])
     || Head <- [['$1' | '_'], ['$1', '$2' | '_'], [a, '_' | '_'], ['$1', '$1' | '_'], ['$1' | '$2'], [{a, '$3'} | x], ['_' | '_']],
        {Guards, Body} <- [{[], ['$_']}, {[{'>', '$1', 5}], ['$$']}],
        Args <- [[], [a], [a, b], [10, 10, c], [{a, tuple}, 1]]],
    show(fun() -> erlang:trace_pattern({?MODULE, callback, '_'}, [{['$1' | '_'], [], []}], [local]) end),
    show(fun() -> erlang:trace_pattern({?MODULE, callback, '_'}, [{['$1' | x], [], []}], [local]) end),
    show(fun() -> erlang:trace_pattern({?MODULE, callback, '_'}, false, [local]) end),
    show(fun() -> is_reference(ets:match_spec_compile([{['$1' | '_'], [], ['$1']}])) end).

%% Which functions a specification may call; what there is to know of a function.
guards() ->
    [io:format("~p~n", [{F, A, Kind, erlang:match_spec_test(Data, [{{'$1'}, [list_to_tuple([F | lists:duplicate(A, '$1')])], []}], Kind)}])
     || {F, A} <- lists:sort(erlang:module_info(functions)), A =< 3, {F, A} =/= {is_record, 2}, {F, A} =/= {is_record, 3},
        erl_internal:guard_bif(F, A) orelse erl_internal:arith_op(F, A) orelse erl_internal:bool_op(F, A)
            orelse erl_internal:comp_op(F, A),
        {Data, Kind} <- [{{a}, table}, {[a], trace}]],
    show(fun() -> erlang:trace_info({?MODULE, callback, 0}, no_such_item) end),
    show(fun() -> erlang:trace_info({?MODULE, no_such_function, 0}, no_such_item) end).

%% Order in bags, and keys with maps in them.
tables() ->
    [begin
         T = ets:new(t, [Type]),
         ets:insert(T, [{a, 1}, {a, 2}, {a, 3}]),
         ets:insert(T, [{a, 4}, {a, 5}, {b, 1}, {a, 6}]),
         show(fun() -> {Type, ets:lookup(T, a)} end)
     end || Type <- [bag, duplicate_bag]],
    [begin
         T = ets:new(t, [Type]),
         [ets:insert(T, {{M, N}, old}) || M <- [#{}, #{k => v}, #{1 => y, k => w}], N <- [1, 2]],
         [show(fun() -> {Type, Key, lists:sort(ets:match(T, {Key, '$1'})), length(ets:select(T, [{{Key, '_'}, [], ['$_']}])),
                         ets:select_count(T, [{{Key, '_'}, [], [true]}])} end)
          || Key <- [{#{}, 1}, {#{k => v}, 2}, {#{k => '_'}, 1}, {#{}, '_'}, {#{z => 1}, 1}, #{}]],
         show(fun() -> ets:select_replace(T, [{{{#{}, 1}, '$1'}, [], [{{{element, 1, '$_'}, {const, new}}}]}]) end),
         show(fun() -> ets:match_delete(T, {{#{k => v}, 1}, '_'}) end),
         show(fun() -> ets:select_delete(T, [{{{#{}, 2}, '_'}, [], [true]}]) end),
         show(fun() -> lists:sort(ets:tab2list(T)) end)
     end || Type <- [set, ordered_set]].

%% The default object of an update: when it is looked at, and what is said of it and of positions.
default_objects() ->
    [begin
         T = ets:new(t, [Type, {keypos, 2}]),
         Type =:= bag orelse ets:insert(T, {0, key, 1}),
         [show(fun() -> {Type, ets:update_counter(T, Key, Change, Default)} end)
          || Key <- [key, none], Change <- [{1, 1}, {2, 1}, {4, 1}, {0, 1}, {a, 1}, 1, [{3, 1}, {1, 2}], [{3, 1} | x], x],
             Default <- [{}, {0}, {0, d}, {0, d, 5}, default, []]],
         [show(fun() -> {Type, ets:update_element(T, Key, Change)} end)
          || Key <- [key, none], Change <- [{3, x}, {2, x}, {4, x}, {0, x}, {a, x}, {-1, x}, [{3, y}, {4, y}], [{9, x}, x], [{3, z} | x], x]],
         [show(fun() -> {Type, apply(ets, update_element, [T, Key, Change, Default])} end)
          || Key <- [key, none, other], Change <- [{3, x}, {2, x}, {4, x}, [{1, y}, {3, y}], [{9, x}, x], [{3, z} | x], x],
             Default <- [{}, {0}, {0, d}, {0, d, 5}, default, []]],
         show(fun() -> lists:sort(ets:tab2list(T)) end)
     end || Type <- [set, ordered_set, bag]].

%% How deep a stack is shown is a number, and not more than backtraces have.
stacks() ->
    [io:format("~p~n", [erlang:match_spec_test([1], [{'_', [], [{message, {current_stacktrace, N}}]}], trace)])
     || N <- [a, -1, 1 bsl 70, '$1', {'+', 1, 1}, {}]],
    Depth = erlang:system_flag(backtrace_depth, 1),
    {ok, Stack, [], []} = erlang:match_spec_test([1], [{'_', [], [{message, {current_stacktrace, 3}}]}], trace),
    erlang:system_flag(backtrace_depth, Depth),
    io:format("~p~n", [length(Stack)]).

%% Signals that only later releases know.
signals() ->
    Known = [S || S <- [sigwinch, sigcont, siginfo], try os:set_signal(S, handle) =:= ok catch error:badarg -> false end],
    io:format("~p~n", [Known]),
    Old = whereis(erl_signal_server),
    Old =:= undefined orelse unregister(erl_signal_server),
    register(erl_signal_server, self()),
    [begin
         "sig" ++ Name = atom_to_list(S),
         "" = os:cmd("kill -" ++ string:uppercase(Name) ++ " " ++ os:getpid()),
         receive {notify, S} -> ok = os:set_signal(S, ignore), io:format("~p~n", [S]) end
     end || S <- Known],
    unregister(erl_signal_server),
    Old =:= undefined orelse register(erl_signal_server, Old).

%% Messages that go before others: what asks for them, and what that has to have.
priorities() ->
    Prio = alias([priority]), Plain = alias(), Once = alias([reply, priority]),
    Got = fun Got() -> receive M -> [setelement(1, {x, M}, got) | Got()] after 0 -> [] end end,
    Send = fun(To, M) -> apply(erlang, send, [To, M, [priority]]) end,
    self() ! a, self() ! b,
    ok = Send(Prio, p1), ok = Send(Plain, c), ok = Send(self(), d), Prio ! e, ok = Send(Prio, p2), ok = Send(Once, p3), ok = Send(Once, lost),
    show(fun() -> process_info(self(), messages) end),
    show(Got),
    %% One that comes while a receive is past its place.
    self() ! x1, self() ! x2,
    Self = self(),
    _ = spawn(fun() -> wait(Self), Send(Prio, {found, first}), Self ! x3 end),
    show(fun() -> receive {found, What} -> What after 60000 -> nothing end end),
    show(fun() -> receive x3 -> ok end, Got() end),
    %% A receive that skips what was there before its reference.
    self() ! old,
    show(fun() -> R = make_ref(), Send(Prio, {R, early}), self() ! {R, late}, {receive {R, W} -> W end, receive {R, W2} -> W2 end} end),
    show(Got),
    %% Messages of monitors and links.
    {P, M} = spawn_monitor(fun() -> receive stop -> ok end end),
    R2 = monitor(process, P, [priority, {tag, tagged}]),
    demonitor(M),
    self() ! before, P ! stop,
    show(fun() -> receive {tagged, R2, process, P, _} -> seen end, Got() end),
    process_flag(trap_exit, true),
    L = spawn_opt(fun() -> receive stop -> exit(bye) end end, [{link, [priority]}]),
    L2 = spawn_link(fun() -> receive stop -> exit(bye) end end),
    apply(erlang, link, [L2, [priority]]), link(L2),
    self() ! in_front,
    [begin X ! stop, Y = monitor(process, X), receive {'DOWN', Y, _, _, _} -> ok end end || X <- [L2, L]],
    show(fun() -> [case Message of {got, {'EXIT', Who, Why}} -> {Who =:= L, Who =:= L2, Why}; _ -> Message end || Message <- Got()] end),
    %% Exit signals to an alias.
    self() ! in_front,
    [show(fun() -> apply(erlang, exit, [To, Why, Options]) end)
     || {To, Why, Options} <- [{Prio, one, []}, {Prio, two, [priority]}, {Plain, three, [priority]}, {make_ref(), lost, []}, {Once, lost, []}]],
    show(fun() -> [case Message of {got, {'EXIT', Who, Why}} -> {Who =:= self(), Why}; _ -> Message end || Message <- Got()] end),
    process_flag(trap_exit, false),
    show(fun() -> [process_info(self(), priority_messages), unalias(Prio), process_info(self(), priority_messages)] end),
    [show(fun() -> apply(erlang, F, Args) end)
     || {F, Args} <- [{alias, [[prio]]}, {exit, [self(), x, [foo]]}, {exit, [self(), x, priority]}, {exit, [foo, x, [priority]]},
                      {exit, [make_ref(), x]}, {link, [self(), [priority]]}, {link, [self(), [foo]]}, {link, [foo, [foo]]},
                      {send, [self(), sent, [priority]]}, {send, [self(), x, [foo]]}, {exit_signal, [self(), normal]}]],
    show(Got).

%% What process_info/2 and flags know by release.
items() ->
    P = spawn_opt(fun() -> put('$process_label', {a, label}), receive stop -> ok end end, []),
    wait(P),
    [show(fun() -> process_info(Q, Item) end)
     || Q <- [self(), P], Item <- [label, async_dist, [label], [async_dist, label], {dictionary, foo}, priority_messages]],
    P ! stop,
    [show(F) || F <- [fun() -> process_flag(async_dist, true) end, fun() -> process_info(self(), async_dist) end,
                      fun() -> process_flag(async_dist, foo) end, fun() -> process_flag(async_dist, false) end,
                      fun() -> is_pid(spawn_opt(fun() -> ok end, [{async_dist, true}])) end,
                      fun() -> spawn_opt(fun() -> ok end, [{async_dist, foo}]) end]],
    [show(fun() -> apply(erts_internal, processes_next, [N]) end) || N <- [1048576, 1048577, -1, foo, 1 bsl 64]].

decoded() ->
    [show(fun() -> erlang:decode_packet(http_bin, iolist_to_binary(["GET http", Uri, " HTTP/1.1\r\n\r\n"]), []) end)
     || Uri <- ["://[FEDC::1]:80/x", "://[FEDC::1]/x", "://[FEDC::1", "://[FEDC::1]:/x", "://[]/x", "://[FEDC::1]x/x", "://a]:80/x",
                "://a[b]:80/x", "://[a:b/c]:80/x", "s://[FEDC::1]", "s://[FEDC::1]:443", "://[a/b]/c", "://[a]:80:90/",
                "://[a]:b/", "://[a]b:80/", "://[a]]:80/", "://[[a]]:80/"]],
    show(fun() -> binary_to_term(<<131, 77, 0:32, 0>>) end).

too_long() ->
    Digits = lists:duplicate(3000000, $9),
    [show(F) || F <- [fun() -> list_to_integer(Digits) end, fun() -> list_to_integer(Digits, 16) end,
                      fun() -> binary_to_integer(list_to_binary([$- | Digits])) end, fun() -> string:to_integer(Digits) end,
                      fun() -> string:to_integer([$a | Digits]) end, fun() -> list_to_integer(lists:duplicate(3000000, $0)) end]].

%% Pids and what stands beside the names of functions differ.
show(F) -> io:format("~p~n", [try F() catch C:R:S -> {C, R, setelement(3, hd(S), arguments)} end]).

%% Of two things that are wrong, which one is told; a function that is traced, but not for meta tracing; what is watched.
traced() ->
    [show(fun() -> erlang:trace_pattern(Which, Spec, Flags) end)
     || Which <- [foo, send, {lists, seq, 2}], Spec <- [foo, true], Flags <- [foo, [foo], []],
        {Which, Spec, Flags} =/= {send, true, []}, {Which, Spec, Flags} =/= {{lists, seq, 2}, true, []}],
    erlang:trace_pattern({lists, seq, 2}, true, [local]),
    show(fun() -> erlang:trace_info({lists, seq, 2}, meta) end),
    erlang:trace_pattern({lists, seq, 2}, false, [local]),
    show(fun() -> erlang:trace_info({lists, seq, 2}, meta) end),
    Watch = fun(Options) -> show(fun() -> element(2, {erlang:system_monitor(self(), Options), watched}) end) end,
    Watch([{long_message_queue, {1, 20}}]),
    Watch([{long_message_queue, {20, 1}}]),
    erlang:system_monitor(undefined).

%% Whether there is any differs; what cannot be, no release says otherwise.
coverage() ->
    io:format("~p~n", [is_boolean(apply(code, coverage_support, []))]),
    [show(fun() -> apply(code, F, As) end)
     || {F, As} <- [{get_coverage, [line, no_such_module]}, {get_coverage, [function, 1]},
                    {get_coverage_mode, [no_such_module]}, {get_coverage_mode, [1]},
                    {reset_coverage, [no_such_module]}, {set_coverage_mode, [no_such_mode]}]].

%% What a process has under one key of its dictionary.
one_key() ->
    Key = {a, "key"},
    {P, M} = spawn_monitor(fun() -> put(Key, "value"), put(1, one), receive stop -> ok end end),
    wait(P),
    put(Key, mine),
    [show(fun() -> process_info(Pid, What) end)
     || Pid <- [P, self()], What <- [{dictionary, Key}, {dictionary, 1.0}, [{dictionary, 1}, priority, {dictionary, Key}],
                                     {dictionary, a, b}, {links, 1}, [{dictionary}]]],
    P ! stop,
    down(M),
    show(fun() -> process_info(P, {dictionary, Key}) end).

monitors() ->
    {P, M} = spawn_monitor(fun() -> receive stop -> ok end end),
    Ref = erlang:monitor(process, P, [priority]),
    Tagged = erlang:monitor(process, P, [{tag, t}, priority]),
    P ! stop,
    down(M),
    down(Ref),
    receive {t, Tagged, _, _, Reason} -> io:format("~p~n", [Reason]) end,
    show(fun() -> erlang:monitor(process, self(), [priority, other]) end).

%% An heir that is not told.
heirs() ->
    Self = self(),
    Make = fun(T) ->
                   {_, M} = spawn_monitor(fun() -> ets:insert(T(), {a, 1}) end),
                   down(M)
           end,
    Make(fun() -> ets:new(h1, [named_table, {heir, Self}]) end),
    Make(fun() -> ets:new(h2, [named_table, {heir, none}, {heir, Self, data}, {heir, Self}]) end),
    Make(fun() -> T = ets:new(h3, [named_table, {heir, Self, data}]), ets:setopts(T, {heir, Self}), T end),
    Make(fun() -> T = ets:new(h4, [named_table, {heir, Self}]), ets:setopts(T, {heir, none}), T end),
    Make(fun() -> T = ets:new(h5, [named_table, {heir, Self}]), ets:setopts(T, [{heir, Self, told}]), T end),
    [io:format("~p~n", [{T, ets:info(T, owner) =:= Self, ets:info(T, heir) =:= Self,
                         ets:info(T) =/= undefined andalso ets:tab2list(T)}]) || T <- [h1, h2, h3, h4, h5]],
    io:format("~p~n", [receive {'ETS-TRANSFER', T, _, D} -> {T, D} end]),
    io:format("~p~n", [receive Other -> Other after 0 -> none end]).

%% hibernate/0 goes on where it was called, with a message and not with any other signal.
hibernate() ->
    {P, M} = spawn_monitor(fun() -> asleep(lists:seq(1, 1000)) end),
    wait(P),
    {_, [{?MODULE, asleep, 1, _} | _]} = process_info(P, current_stacktrace),
    io:format("~p~n", [process_info(P, [status, current_function])]),
    link(P), unlink(P), erlang:garbage_collect(P),
    wait(P),
    io:format("~p~n", [process_info(P, [status, current_function])]),
    P ! hello,
    down(M),
    {P2, M2} = spawn_monitor(fun() ->
                                     self() ! here_already,
                                     io:format("~p~n", [apply(erlang, hibernate, [])]),
                                     exit(callback())
                             end),
    down(M2),
    io:format("~p~n", [process_info(P2)]),
    {P3, M3} = spawn_monitor(fun() -> try erlang:hibernate() after io:format("never~n") end end),
    wait(P3),
    exit(P3, bad),
    down(M3).

asleep(List) ->
    Result = apply_hibernate(),
    receive X -> io:format("~p ~p ~p~n", [Result, X, lists:sum(List)]) end,
    self() ! again,
    %% The stack is there still, and what is on it.
    io:format("~p ~p~n", [erlang:hibernate(), length(List)]).

-compile({inline, [apply_hibernate/0]}).
apply_hibernate() -> erlang:hibernate().

callback() -> erlang:hibernate().

down(M) -> receive {'DOWN', M, _, _, Reason} -> io:format("~p~n", [Reason]) end.

wait(P) ->
    case process_info(P, status) of
        {status, waiting} -> ok;
        _ -> erlang:yield(), wait(P)
    end.
