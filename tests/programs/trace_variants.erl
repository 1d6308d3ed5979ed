%% A hundred and more small traces: flags, actions and functions of match specifications. Each runs
%% the same way: a tracee is started, traced by what the row says, does the row's work, and what its
%% tracer got is printed in order, pids and references by name.
-module(trace_variants).
-export([main/1, worker/0, fact/1, f/1, g/1, h/2, tail/1, thrower/1, exiter/1, erring/1,
         catches/1, many/4, id/1, bits/1, spawned/1, deep/1, kid/0]).

fact(0) -> 1;
fact(N) -> N * fact(N - 1).
f(X) -> g(X) + 1.
g(X) -> hidden(X) * 2.
hidden(X) -> X.
h(A, B) -> ?MODULE:id({A, B}).
id(X) -> X.
tail(0) -> done;
tail(N) -> tail(N - 1).
thrower(X) -> throw({thrown, X}).
exiter(X) -> exit({exited, X}).
erring(X) -> error({erred, X}).
catches(F) -> try F() catch C:R -> {C, R} end.
many(A, _, _, D) -> {A, D}.
bits(B) -> bits(B, 0).
bits(<<X, T/binary>>, S) -> bits(T, S + X);
bits(<<>>, S) -> S.
spawned(To) -> To ! {spawned, self()}.
kid() -> receive stop -> ok end.
deep(0) -> [];
deep(N) -> [N | deep(N - 1)].

worker() -> receive {work, From, F} -> From ! {result, catch F()}, ?MODULE:worker(); stop -> ok end.

work(P, F) -> P ! {work, self(), F}, receive {result, R} -> R end.

%% {Name, Flags, [{MFA, Spec, Options}], Work}
rows() ->
    L = [local],
    M = ?MODULE,
    Fact = fun() -> fact(2) end,
    FF = fun() -> f(5) end,
    MS = fun(Body) -> [{{M, f, 1}, [{'_', [], Body}], L}] end,
    MA = fun(Body) -> [{{M, h, 2}, [{['$1', '$2'], [], Body}], L}] end,
    H = fun() -> ?MODULE:h(first, {second, [1, 2]}) end,
    When = fun(Head, Guards) -> [{{M, h, 2}, [{Head, Guards, []}], L}] end,
    [{local_call, [call], [{{M, fact, 1}, true, L}], Fact},
     {local_call_nil, [call], [{{M, fact, 1}, [], L}], Fact},
     {global_call_not_local, [call], [{{M, fact, 1}, true, [global]}], Fact},
     {global_call, [call], [{{M, id, 1}, true, [global]}], H},
     {global_bif, [call], [{{erlang, abs, 1}, true, [global]}], fun() -> abs(id(-3)) end},
     {local_bif, [call], [{{erlang, abs, 1}, true, L}], fun() -> abs(id(-3)) end},
     {bif_return, [call], [{{erlang, atom_to_list, 1}, [{'_', [], [{return_trace}]}], L}],
      fun() -> atom_to_list(id(abc)) end},
     {bif_exception, [call], [{{erlang, atom_to_list, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> atom_to_list(id(1)) end) end},
     {bif_exception_return_trace, [call],
      [{{erlang, atom_to_list, 1}, [{'_', [], [{return_trace}]}], L}],
      fun() -> catches(fun() -> atom_to_list(id(1)) end) end},
     {whole_module, [call], [{{M, '_', '_'}, true, L}], FF},
     {whole_module_global, [call], [{{M, '_', '_'}, true, []}], FF},
     {all_arities, [call], [{{M, h, '_'}, true, L}], H},
     {arity_flag, [call, arity], [{{M, h, 2}, true, L}], H},
     {arity_return, [call, arity], [{{M, h, 2}, [{'_', [], [{return_trace}]}], L}], H},
     {private_function, [call], [{{M, hidden, 1}, true, L}], FF},
     {tail_calls, [call], [{{M, tail, 1}, true, L}], fun() -> tail(3) end},
     {tail_returns, [call], [{{M, tail, 1}, [{'_', [], [{return_trace}]}], L}],
      fun() -> tail(3) end},
     {body_returns, [call], [{{M, fact, 1}, [{'_', [], [{return_trace}]}], L}], Fact},
     {returns_deep, [call, silent], [{{M, deep, 1}, [{'_', [], [{return_trace}]}], L}],
      fun() -> length(deep(500)) end},
     {return_to, [call, return_to], [{{M, g, 1}, true, L}], FF},
     {return_to_all, [call, return_to], [{{M, '_', '_'}, true, L}], FF},
     {return_to_tail, [call, return_to], [{{M, tail, 1}, true, L}], fun() -> tail(2) end},
     {return_to_global, [call, return_to], [{{M, id, 1}, true, []}], H},
     {return_to_and_trace, [call, return_to], [{{M, f, 1}, [{'_', [], [{return_trace}]}], L},
      {{M, g, 1}, [{'_', [], [{return_trace}]}], L}], FF},
     {return_to_exception, [call, return_to], [{{M, thrower, 1}, true, L}],
      fun() -> catches(fun() -> thrower(1) end) end},
     {return_to_deep_exception, [call, return_to], [{{M, '_', '_'}, true, L}],
      fun() -> catches(fun() -> id(thrower(1)) end) end},
     {throw_caught, [call], [{{M, thrower, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> thrower(1) end) end},
     {throw_not_caught, [call, procs], [{{M, thrower, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> thrower(1) end) end},
     {exit_caught, [call], [{{M, exiter, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> exiter(1) end) end},
     {error_caught, [call], [{{M, erring, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> erring(1) end) end},
     {error_through_two, [call], [{{M, erring, 1}, [{'_', [], [{exception_trace}]}], L},
      {{M, catches, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> id(erring(1)) end) end},
     {undef_caught, [call], [{{M, '_', '_'}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> ?MODULE:no_such(1) end) end},
     {badmatch, [call], [{{M, catches, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> 1 = id(2) end) end},
     {exception_value, [call], [{{M, fact, 1}, [{'_', [], [{exception_trace}]}], L}],
      fun() -> catches(fun() -> fact(a) end) end},
     {bits, [call], [{{M, bits, '_'}, true, L}], fun() -> bits(id(<<1, 2, 3>>)) end},
     {bits_return, [call], [{{M, bits, '_'}, [{'_', [], [{return_trace}]}], L}],
      fun() -> bits(id(<<1, 2, 3>>)) end},
     %% -- the head
     {head_atom, [call], When([first, '_'], []), H},
     {head_no, [call], When([second, '_'], []), H},
     {head_same, [call], When(['$1', '$1'], []), H},
     {head_same_yes, [call], When(['$1', '$1'], []), fun() -> h(a, a) end},
     {head_tuple, [call], When(['_', {second, '_'}], []), H},
     {head_list, [call], When(['_', {'_', [1 | '_']}], []), H},
     {head_bound, [call], When(['$1', {'$2', ['$3' | '$4']}], [{is_list, '$4'}]), H},
     {head_variable_all, [call], [{{M, h, 2}, [{'$1', [{'==', {length, '$1'}, 2}], []}], L}], H},
     {two_clauses, [call], [{{M, h, 2}, [{[x, '_'], [], [{message, x}]},
      {['_', '_'], [], [{message, other}]}], L}], H},
     %% -- guards
     {guard_atom, [call], When(['$1', '_'], [{is_atom, '$1'}]), H},
     {guard_integer, [call], When(['$1', '_'], [{is_integer, '$1'}]), H},
     {guard_compare, [call], [{{M, f, 1}, [{['$1'], [{'>', '$1', 3}], []}], L}],
      fun() -> f(3) + f(4) end},
     {guard_arith, [call], [{{M, f, 1}, [{['$1'], [{'=:=', {'rem', '$1', 2}, 0}], []}], L}],
      fun() -> f(3) + f(4) end},
     {guard_and, [call], When(['$1', '$2'], [{'and', {is_atom, '$1'}, {is_tuple, '$2'}}]), H},
     {guard_or, [call], When(['$1', '_'], [{'or', {is_pid, '$1'}, {is_atom, '$1'}}]), H},
     {guard_not, [call], When(['$1', '_'], [{'not', {is_atom, '$1'}}]), H},
     {guard_andalso, [call], When(['$1', '_'], [{'andalso', {is_atom, '$1'}, {'==', '$1', first}}]),
      H},
     {guard_orelse, [call], When(['$1', '_'], [{'orelse', {is_pid, '$1'}, true}]), H},
     {guard_fails, [call], When(['$1', '_'], [{'>', {'+', '$1', 1}, 0}]), H},
     {guard_element, [call], When(['_', '$2'], [{'==', {element, 1, '$2'}, second}]), H},
     {guard_hd_tl, [call], When(['_', {'_', '$3'}], [{'==', {hd, '$3'}, 1}, {'==', {tl, '$3'}, [2]}]),
      H},
     {guard_size, [call], When(['_', '$2'], [{'==', {size, '$2'}, 2}]), H},
     {guard_self, [call], When('_', [{is_pid, {self}}]), H},
     {guard_node, [call], When('_', [{'==', {node}, {const, nonode@nohost}}]), H},
     {guard_const, [call], When(['_', '$1'], [{'==', '$1', {const, {second, [1, 2]}}}]), H},
     {guard_tcw, [call], When('_', [{'==', {get_tcw}, 0}]), H},
     {guard_is_seq_trace, [call], When('_', [{is_seq_trace}]), H},
     {guard_band, [call], [{{M, f, 1}, [{['$1'], [{'==', {'band', '$1', 1}, 1}], []}], L}], FF},
     {guard_map, [call], [{{M, f, 1}, [{['$1'], [{is_map, '$1'}], []}], L}], FF},
     {guard_all_args, [call], When('_', [{is_list, '$*'}]), H},
     {guard_whole, [call], When(['$1', '_'], [{is_list, '$_'}]), H},
     %% -- messages
     {message_true, [call], MS([{message, true}]), FF},
     {message_false, [call], MS([{message, false}]), FF},
     {message_term, [call], MS([{message, {{a, 1, "text", <<"bin">>}}}]), FF},
     {message_args, [call], MA([{message, '$_'}]), H},
     {message_bindings, [call], MA([{message, '$$'}]), H},
     {message_variable, [call], MA([{message, ['$2', '$1']}]), H},
     {message_last_wins, [call], MS([{message, one}, {message, two}]), FF},
     {message_then_false, [call], MS([{message, one}, {message, false}]), FF},
     {message_false_then, [call], MS([{message, false}, {message, two}]), FF},
     {message_false_return, [call], MS([{message, false}, {return_trace}]), FF},
     {message_arith, [call], [{{M, f, 1}, [{['$1'], [], [{message, {'*', '$1', 10}}]}], L}], FF},
     {message_fails, [call], [{{M, f, 1}, [{['$1'], [], [{message, {hd, '$1'}}]}], L}], FF},
     {message_self, [call], MS([{message, {self}}]), FF},
     {message_map, [call], MA([{message, #{key => '$1'}}]), H},
     {caller, [call], [{{M, g, 1}, [{'_', [], [{message, {caller}}]}], L}], FF},
     {caller_of_tail, [call], [{{M, id, 1}, [{'_', [], [{message, {caller}}]}], L}], H},
     {caller_of_bif, [call], [{{erlang, abs, 1}, [{'_', [], [{message, {caller}}]}], L}],
      fun() -> abs(id(-3)) end},
     {caller_of_hidden, [call], [{{M, hidden, 1}, [{'_', [], [{message, {caller}}]}], L}], FF},
     {dump_is_binary, [call], [{{M, f, 1}, [{'_', [], [{message, {process_dump}}]}], L}], FF},
     {tcw, [call], MS([{set_tcw, 17}, {message, {get_tcw}}]), FF},
     {tcw_back, [call], MS([{message, {set_tcw, 0}}]), FF},
     {seq_token_none, [call], MS([{message, {get_seq_token}}]), FF},
     {display_and_message, [call], MS([{message, {{1, 2}}}, {return_trace}]), FF},
     %% -- flags that change
     {silent, [call, silent], [{{M, fact, 1}, true, L}], Fact},
     {silent_off_by_spec, [call, silent], [{{M, g, 1}, [{'_', [], [{silent, false}]}], L},
      {{M, f, 1}, true, L}, {{M, hidden, 1}, true, L}], FF},
     {silent_on_by_spec, [call], [{{M, g, 1}, [{'_', [], [{silent, true}]}], L},
      {{M, f, 1}, true, L}, {{M, hidden, 1}, true, L}], FF},
     {silent_value, [call], MS([{message, {silent, true}}]), FF},
     {silent_not_boolean, [call], MS([{message, {silent, 7}}]), FF},
     {enable_trace, [call], MS([{message, {enable_trace, send}}]),
      fun() -> f(1), self() ! from_f, receive from_f -> ok end end},
     {disable_trace, [call, send], MS([{message, {disable_trace, send}}]),
      fun() -> f(1), self() ! from_f, receive from_f -> ok end end},
     {enable_bad, [call], MS([{message, {enable_trace, nonsense}}]), FF},
     {trace_2, [call], MS([{message, {trace, [call], [send]}}]),
      fun() -> f(1), self() ! from_f, receive from_f -> ok end, f(2) end},
     {trace_2_bad, [call], MS([{message, {trace, [nonsense], []}}]), FF},
     {return_enabled_late, [call], [{{M, fact, 1}, [{[0], [], [{return_trace}]}, {'_', [], []}], L}],
      Fact},
     %% -- messages of processes
     {send, [send], [], fun() -> self() ! hello, receive hello -> ok end end},
     {send_dead, [send], [],
      fun() -> {Q, R} = spawn_monitor(fun() -> ok end), receive {'DOWN', R, _, _, _} -> ok end,
               Q ! lost end},
     {send_name, [send], [], fun() -> register(tv_name, self()), tv_name ! by_name,
                                      {tv_name, node()} ! by_both, unregister(tv_name) end},
     {receive_flag, ['receive'], [], fun() -> self() ! hello, receive hello -> ok end end},
     {receive_timeout, ['receive'], [], fun() -> receive nothing -> ok after 1 -> late end end},
     {receive_timer, ['receive'], [], fun() -> erlang:send_after(1, self(), tick),
                                               receive tick -> ok end end},
     {receive_exit, ['receive'], [], fun() -> process_flag(trap_exit, true),
                                              Q = spawn_link(fun() -> exit(bye) end),
                                              receive {'EXIT', Q, bye} -> ok end end},
     {receive_down, ['receive'], [], fun() -> {_, R} = spawn_monitor(fun() -> exit(bye) end),
                                              receive {'DOWN', R, _, _, bye} -> ok end end},
     {send_spec, [send], [{send, [{['_', {result, '_'}], [], [{message, result}]}], []}],
      fun() -> self() ! x, receive x -> ok end end},
     {send_spec_false, [send], [{send, false, []}], fun() -> self() ! x, receive x -> ok end end},
     {send_spec_to, [send], [{send, [{['$1', '_'], [{'==', '$1', {self}}], []}], []}],
      fun() -> self() ! x, receive x -> ok end end},
     {receive_spec, ['receive'], [{'receive', [{['_', '_', x], [], [{message, {const, got}}]}], []}],
      fun() -> self() ! x, receive x -> ok end end},
     {receive_spec_from, ['receive'],
      [{'receive', [{[node(), '$1', '_'], [{'==', '$1', {self}}], []}], []}],
      fun() -> self() ! x, receive x -> ok end end},
     {receive_spec_false, ['receive'], [{'receive', false, []}],
      fun() -> self() ! x, receive x -> ok end end},
     {procs_spawn, [procs], [], fun() -> wait_for(spawn(?MODULE, id, [x])) end},
     {procs_spawn_fun, [procs], [], fun() -> wait_for(spawn(fun() -> ok end)) end},
     {procs_spawn_link, [procs], [],
      fun() -> Q = spawn_link(?MODULE, kid, []), unlink(Q), Q ! stop end},
     {procs_spawn_opt, [procs], [],
      fun() -> {Q, _} = spawn_opt(?MODULE, kid, [], [link, monitor]), Q ! stop, wait_for(Q) end},
     {procs_link, [procs], [],
      fun() -> Q = spawn(?MODULE, kid, []), link(Q), unlink(Q), Q ! stop, wait_for(Q) end},
     {procs_register, [procs], [], fun() -> register(tv_name, self()), unregister(tv_name) end},
     {procs_getting_linked, [procs], [],
      fun() -> Me = self(), Q = spawn(fun() -> link(Me), unlink(Me) end), wait_for(Q),
               timer:sleep(5) end},
     {procs_exit, [procs], [], fun() -> exit(self(), kill) end},
     {set_on_spawn, [procs, call, set_on_spawn], [{{M, spawned, 1}, true, L}],
      fun() -> Me = self(), Q = spawn(?MODULE, spawned, [Me]), receive {spawned, Q} -> ok end,
               wait_for(Q) end},
     {set_on_first_spawn, [procs, set_on_first_spawn], [],
      fun() -> [wait_for(spawn(?MODULE, id, [N])) || N <- [1, 2]] end},
     {set_on_spawn_flags, [set_on_spawn, procs, timestamp], [],
      fun() -> wait_for(spawn(?MODULE, id, [1])) end},
     {set_on_link, [procs, set_on_link], [],
      fun() -> Q = spawn(?MODULE, kid, []), link(Q), unlink(Q), Q ! stop, wait_for(Q) end},
     {set_on_first_link, [procs, set_on_first_link], [],
      fun() -> [begin Q = spawn(?MODULE, kid, []), link(Q), unlink(Q), Q ! stop, wait_for(Q) end
                || _ <- [1, 2]] end},
     {set_on_link_spawn_link, [procs, set_on_link], [],
      fun() -> Q = spawn_link(?MODULE, kid, []), unlink(Q), Q ! stop, wait_for(Q) end},
     {running_is_in_and_out, [running], [], fun() -> ok end},
     {exiting_flag, [exiting], [], fun() -> ok end},
     {gc_minor, [garbage_collection], [], fun() -> erlang:garbage_collect(self(), [{type, minor}]) end},
     {gc_major, [garbage_collection], [], fun() -> erlang:garbage_collect() end},
     %% -- time stamps
     {timestamp, [call, timestamp], [{{M, f, 1}, true, L}], FF},
     {cpu_timestamp, [call, monotonic_timestamp], [{{M, f, 1}, true, L}], FF},
     {strict, [call, strict_monotonic_timestamp], [{{M, f, 1}, true, L}], FF},
     {timestamp_wins, [call, timestamp, monotonic_timestamp], [{{M, f, 1}, true, L}], FF},
     {timestamp_send, [send, monotonic_timestamp], [], fun() -> ok end},
     %% -- meta, counters
     {meta, [], [{{M, f, 1}, true, [meta]}], FF},
     {meta_spec, [], [{{M, f, 1}, [{'_', [], [{return_trace}, {message, {caller}}]}], [meta]}], FF},
     {meta_and_local, [call], [{{M, f, 1}, true, [meta]}, {{M, f, 1}, true, L}], FF},
     {meta_exception, [], [{{M, erring, 1}, [{'_', [], [{exception_trace}]}], [meta]}],
      fun() -> catches(fun() -> erring(1) end) end},
     {meta_then_global, [call], [{{M, id, 1}, true, [meta]}, {{M, id, 1}, true, [global]}], H},
     {count_and_call, [call], [{{M, fact, 1}, true, [call_count, local]}], Fact}].

wait_for(P) -> R = monitor(process, P), receive {'DOWN', R, _, _, _} -> ok end.

main(_) ->
    [row(R) || R <- rows()],
    errors(),
    io:format("~p rows~n", [length(rows()) > 100]).

row({Name, Flags, Patterns, Work}) ->
    io:format("== ~w~n", [Name]),
    P = spawn(?MODULE, worker, []),
    try
        Flags =/= [] andalso io:format("~p~n", [erlang:trace(P, true, Flags)]),
        [io:format("~p~n", [erlang:trace_pattern(W, Spec, O)]) || {W, Spec, O} <- Patterns]
    catch C:E -> io:format("~p~n", [{C, E}]) end,
    R = case Name of
        procs_exit -> P ! {work, self(), Work}, wait_for(P), killed;
        _ -> work(P, Work)
    end,
    io:format("-> ~p~n", [mask(P, R)]),
    D = erlang:trace_delivered(all), receive {trace_delivered, all, D} -> ok end,
    timer:sleep(2),
    show(P, Name, lists:reverse(drain([]))),
    catch erlang:trace(P, false, [all]),
    [erlang:trace_pattern(W, case W of T when is_tuple(T) -> false; _ -> true end,
                          case O of [global] -> []; _ -> O end) || {W, _, O} <- Patterns],
    0 = erlang:system_flag(trace_control_word, 0) * 0,
    P ! stop,
    drain([]).

%% Events of one process are in order; of several they are told apart and put behind each other.
show(_, running_is_in_and_out, Events) ->
    io:format("~p~n", [lists:usort([element(3, E) || E <- Events])]);
show(_, returns_deep, Events) ->
    io:format("~p~n", [length(Events)]);
show(_, Name, Events) when Name =:= gc_minor; Name =:= gc_major ->
    Tags = [element(3, E) || E <- Events],
    io:format("~p~n", [[T || T <- Tags, lists:member(T, tags(Name))] =/= []]),
    io:format("~p~n", [lists:sort([K || {K, _} <- element(4, hd(Events))])]);
show(P, dump_is_binary, [E | Es]) ->
    io:format("~p~n", [is_binary(element(5, E))]), show(P, rest, Es);
show(P, _, Events) ->
    {Own, Others} = lists:partition(fun(E) -> element(2, E) =:= P end, Events),
    [io:format("~p~n", [mask(P, E)]) || E <- Own ++ Others].

tags(gc_minor) -> [gc_minor_start, gc_minor_end];
tags(gc_major) -> [gc_major_start, gc_major_end].

drain(Acc) -> receive {result, _} -> drain(Acc); M -> drain([M | Acc]) after 10 -> Acc end.

mask(P, P) -> tracee;
mask(_, X) when X =:= self() -> tracer;
mask(_, X) when is_pid(X) -> pid;
mask(_, X) when is_reference(X) -> ref;
mask(_, X) when is_function(X) -> a_fun;
mask(P, T) when element(1, T) =:= trace_ts ->
    S = tuple_size(T),
    list_to_tuple([mask(P, E) || E <- tuple_to_list(setelement(S, T, time(element(S, T))))]);
mask(P, T) when is_tuple(T) -> list_to_tuple([mask(P, E) || E <- tuple_to_list(T)]);
mask(P, [H | T]) -> [mask(P, H) | mask(P, T)];
mask(_, X) -> X.

time({_, _, _}) -> time_of_day;
time({_, _}) -> strict_time;
time(T) when is_integer(T) -> monotonic_time;
time(X) -> {what, X}.

errors() ->
    P = spawn(?MODULE, worker, []),
    Dead = spawn(fun() -> ok end),
    wait_for(Dead),
    Cases = [fun() -> erlang:trace(P, true, [call, {tracer, Dead}]) end,
             fun() -> erlang:trace(P, true, [{tracer, nonsense}]) end,
             fun() -> erlang:trace(Dead, true, [call]) end,
             fun() -> erlang:trace(P, true, [nonsense]) end,
             fun() -> erlang:trace(P, true, call) end,
             fun() -> erlang:trace(P, 1, [call]) end,
             fun() -> erlang:trace(nobody_of_this_name, true, [call]) end,
             fun() -> erlang:trace(self(), true, [call]) end,
             fun() -> erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{nonsense}]}], [local]) end,
             fun() -> erlang:trace_pattern({?MODULE, f, 1}, [{'_', [{return_trace}], []}], [local]) end,
             fun() -> erlang:trace_pattern({?MODULE, f, 1}, [{x}], [local]) end,
             fun() -> erlang:trace_pattern({?MODULE, f, 1}, true, [nonsense]) end,
             fun() -> erlang:trace_pattern({?MODULE, f, 1}, true, [local, global]) end,
             fun() -> erlang:trace_pattern({?MODULE, f, 256}, true, [local]) end,
             fun() -> erlang:trace_pattern({?MODULE, '_', 1}, true, [local]) end,
             fun() -> erlang:trace_pattern({'_', f, 1}, true, [local]) end,
             fun() -> erlang:trace_pattern({?MODULE, f, 1}, true, [{meta, Dead}]) end,
             fun() -> erlang:trace_pattern({no_such_module, f, 1}, true, [local]) end,
             fun() -> erlang:trace_pattern({?MODULE, no_such, 1}, true, [local]) end,
             fun() -> erlang:trace_pattern(send, true, [local]) end,
             fun() -> erlang:trace_pattern(send, [{'_', [], [{return_trace}]}], []) end,
             fun() -> erlang:trace_pattern('receive', [{'_', [], [{caller}]}], []) end,
             fun() -> erlang:trace_info(P, nonsense) end,
             fun() -> erlang:trace_info(Dead, flags) end,
             fun() -> erlang:trace_info({?MODULE, f, 1}, nonsense) end,
             fun() -> erlang:trace_info({?MODULE, f}, traced) end,
             fun() -> erlang:trace_info({?MODULE, no_such, 9}, all) end,
             fun() -> erlang:trace_info(send, match_spec) end,
             fun() -> erlang:trace_info(new, flags) end,
             fun() -> erlang:trace_delivered(nonsense) end],
    [io:format("~p~n", [mask(P, try F() catch C:E -> {C, E} end)]) || F <- Cases],
    P ! stop.
