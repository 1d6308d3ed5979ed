%% What a purge does to processes: one that got more literals than its heap may have went on, one that waits for
%% the end of a purge was not suspended but waiting, and the limit of requests could not be set.
-module(code_purge_processes).
-export([main/1]).

main(_) ->
    logger:set_primary_config(level, none),
    limit(),
    max_heap_size(),
    waits_for_a_purge(false),
    waits_for_a_purge(true).

p(What, Value) -> io:format("~w: ~0tp~n", [What, Value]).

limit() ->
    Old = erlang:system_info(outstanding_system_requests_limit),
    Old = erlang:system_flag(outstanding_system_requests_limit, 100),
    p(limit, [{V, try erlang:system_flag(outstanding_system_requests_limit, V) catch error:R -> R end}
              || V <- [134217727, 134217728, 0, -1, 1, many, 1.0, 2]]),
    p(limit, erlang:system_info(outstanding_system_requests_limit)),
    2 = erlang:system_flag(outstanding_system_requests_limit, Old).

max_heap_size() ->
    M = code_purge_processes_m,
    {module, M} = erlang:load_module(M, module(M, lists:seq(1, 5000))),
    Ps = [begin
              Parent = self(),
              {P, Ref} = spawn_opt(fun() ->
                                       Value = M:f(),
                                       Parent ! {self(), has},
                                       receive stop -> exit({has, length(Value)}) end
                                   end, [monitor, {max_heap_size, #{size => Size, kill => true, error_logger => false}}]),
              receive {P, has} -> ok end,
              {P, Ref}
          end || Size <- [1024, 1000000]],
    true = erlang:delete_module(M),
    code:purge(M),
    [{Small, SmallRef}, {Large, LargeRef}] = Ps,
    receive {'DOWN', SmallRef, process, Small, Why} -> p(small, Why) end,
    Large ! stop,
    receive {'DOWN', LargeRef, process, Large, Why2} -> p(large, Why2) end.

module(M, Value) ->
    Forms = [{attribute, 1, module, M}, {attribute, 1, export, [{f, 0}, {fn, 0}]},
             {function, 1, f, 0, [{clause, 1, [], [], [erl_parse:abstract(Value)]}]},
             {function, 1, fn, 0, [{clause, 1, [], [], [{'fun', 1, {clauses, [{clause, 1, [{var, 1, 'X'}], [], [{var, 1, 'X'}]}]}}]}]}],
    {ok, M, Bin} = compile:forms(Forms),
    Bin.

%% As OTP's own tests ask the code purger to do it in steps.
waits_for_a_purge(Soft) ->
    M = code_purge_processes_f,
    Bin = module(M, []),
    {module, M} = erlang:load_module(M, Bin),
    F = M:fn(),
    true = erlang:delete_module(M),
    p(name, erlang:fun_info(F, name)),
    Ref = make_ref(),
    erts_code_purger ! {test_purge, M, self(), Soft, Ref},
    receive {started, Ref} -> ok end,
    p(name, erlang:fun_info(F, name)),
    {P, Mon} = spawn_monitor(fun() -> exit({result, F(1)}) end),
    ok = until(fun() -> process_info(P, status) =:= {status, suspended} end),
    p(suspended, process_info(P, [status, current_function])),
    erts_code_purger ! {continue, Ref},
    receive {continued, Ref} -> ok end,
    erts_code_purger ! {complete, Ref},
    receive {test_purge, Result, Ref} -> p(purge, Result) end,
    receive {'DOWN', Mon, process, P, Reason} -> p(called, case Reason of {{Why, [_ | _]}, _} -> Why; {Why, [_ | _]} -> Why; _ -> Reason end) end.

until(F) ->
    case F() of
        true -> ok;
        false -> timer:sleep(5), until(F)
    end.
