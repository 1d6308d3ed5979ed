%% What a VM goes on with when a function of it yields is no function that anybody can name: not by a call, a fun,
%% apply, spawn, a trace pattern, a term from outside.
-module(hidden_functions).
-export([start/0]).

names() ->
    [{erts_internal, binary_to_term_trap, 1}, {erts_internal, term_to_binary_trap, 1},
     {erts_internal, list_to_binary_continue, 1}, {erts_internal, binary_to_list_continue, 1},
     {erlang, binary_copy_trap, 2}, {erlang, binary_find_trap, 3}, {minivm, unicode_continue, 3},
     {minivm, await_code_change, 2}, {minivm, await_code_permission, 2},
     {minivm, append_parts, 3}, {minivm, append_collected, 2}, {minivm, return, 1}, {minivm, halted, 0},
     {minivm, load_and_apply, 3}, {minivm, load_and_apply_fun, 3}, {minivm, apply_unloaded_fun, 3},
     {minivm, call_nif, 3}, {minivm, call_nif_dirty_cpu, 3}, {minivm, call_nif_dirty_io, 3},
     {minivm, write_stdout_dirty, 1}, {minivm, trace_pattern, 3}, {minivm, trace_pattern, 4},
     {minivm, trace_session_destroy, 1}, {ets, delete_trap, 1}, {ets, select_trap, 1}, {ets, count_trap, 1},
     {ets, select_delete_trap, 1}, {ets, replace_trap, 1}, {erlang, re_run_trap, 3},
     {erts_debug, wait_progress, 1}, {erts_debug, sleep, 1},
     {maps, merge_trap, 1}, {erlang, phash2_dirty, 3}, {erlang, md5_dirty, 1},
     {erlang, md5_update_dirty, 2}, {erlang, crc32_dirty, 2}, {erlang, adler32_dirty, 2}, {erlang, phash_dirty, 3},
     {erlang, integer_to_list_dirty, 2}, {erlang, text_to_integer_dirty, 2}, {string, list_to_integer_dirty, 2}].

start() ->
    logger:remove_handler(default),
    process_flag(trap_exit, true),
    lists:foreach(fun one/1, names()),
    Calls = [catch erts_internal:binary_to_term_trap({atomics:new(3, []), []}), catch minivm:unicode_continue(make_ref(), [], []),
             catch ets:delete_trap(ets:new(t, [])), catch erts_debug:wait_progress(counters:new(1, []))],
    io:format("~p~n", [[Reason || {'EXIT', {Reason, _}} <- Calls]]),
    %% Nor by what they call wrong arguments.
    Much = binary:copy(<<0>>, 600000),
    io:format("~p~n", [[try erlang:F(Wrong, Much)
                            catch error:Reason:Stack -> {Reason, hd(Stack) =:= {erlang, F, [Wrong, Much], [{error_info, #{module => erl_erts_errors}}]}} end
                        || F <- [crc32, adler32, md5_update], Wrong <- [foo, -1, <<1>>]]]).

one({M, F, A} = MFA) ->
    Things = [atomics:new(3, []), counters:new(2, []), ets:new(t, [public]), ets:match_spec_compile([{'_', [], ['$_']}]),
              make_ref(), {a, b}, <<1, 2>>],
    Fun = fun M:F/A,
    Decoded = binary_to_term(<<131, 113, (atom(M))/binary, (atom(F))/binary, 97, A>>),
    Tried = [begin
                 Args = lists:duplicate(A, T),
                 {tried(fun() -> apply(M, F, Args) end), tried(fun() -> apply(Fun, Args) end),
                  tried(fun() -> apply(Decoded, Args) end), spawned(M, F, Args), hibernated(M, F, Args)}
             end || T <- Things],
    io:format("~p ~p ~p ~p~n", [MFA, lists:usort(Tried), erlang:function_exported(M, F, A),
                                erlang:is_builtin(M, F, A)]),
    io:format("~p ~p~n", [lists:member({F, A}, exports(M)), erlang:trace_pattern(MFA, true, [local])]).

exports(minivm) -> [];
exports(M) -> M:module_info(exports).

atom(A) ->
    Text = atom_to_binary(A),
    <<119, (byte_size(Text)), Text/binary>>.

tried(F) ->
    try F() of
        Value -> {returned, Value}
    catch
        Class:Reason -> {Class, Reason}
    end.

spawned(M, F, Args) -> ended(spawn_link(fun() -> exit(tried(fun() -> apply(M, F, Args) end)) end)).

hibernated(M, F, Args) ->
    %% What the process does when it is woken has no catch around it: it says so before it ends.
    Pid = spawn_link(fun() -> erlang:hibernate(M, F, Args) end),
    Pid ! wake,
    case ended(Pid) of
        {Reason, [{M, F, _, _} | _]} -> {at_the_function, Reason};
        Reason -> {elsewhere, Reason}
    end.

ended(Pid) -> receive {'EXIT', Pid, Reason} -> Reason end.
