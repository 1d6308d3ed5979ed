%% What bad input to the functions of loading gets: prepared code used twice, used by another process or after
%% its maker has ended, of another name, with old code in the way; files of another module, damaged files;
%% sticky modules; on_load functions that are under way. The errors are OTP's.
-module(code_bad_input).
-export([main/1]).

main(_) ->
    logger:set_primary_config(level, none),
    prepared(),
    names(),
    damaged(),
    on_load(),
    sticky(),
    arguments().

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).
err(F) -> try F() catch C:R -> {C, R} end.

version(M, N) -> version(M, N, []).
version(M, N, More) ->
    L = erl_anno:new(1),
    {ok, M, Bin} = compile:forms([{attribute, L, module, M}, {attribute, L, export, [{f, 0}]} | More] ++
                                     [{function, L, f, 0, [{clause, L, [], [], [{integer, L, N}]}]}]),
    Bin.

prepared() ->
    A = code_bad_input_a,
    B = code_bad_input_b,
    One = erlang:prepare_loading(A, version(A, 1)),
    p(finish, {erlang:finish_loading([One]), A:f()}),
    p(twice, {err(fun() -> erlang:finish_loading([One]) end), A:f()}),
    Two = erlang:prepare_loading(A, version(A, 2)),
    p(twice_in_one, {err(fun() -> erlang:finish_loading([Two, Two]) end), A:f()}),
    p(afterwards, {err(fun() -> erlang:finish_loading([Two]) end), A:f()}),
    Three = erlang:prepare_loading(A, version(A, 3)),
    NewB = erlang:prepare_loading(B, version(B, 1)),
    p(old_in_the_way, {err(fun() -> erlang:finish_loading([NewB, Three]) end), A:f(), erlang:module_loaded(B)}),
    true = erlang:purge_module(A),
    p(same_again, {err(fun() -> erlang:finish_loading([NewB, Three]) end), A:f(), erlang:module_loaded(B)}),
    code:purge(A),
    %% Its maker has ended.
    {Maker, Ref} = spawn_monitor(fun() -> exit({made, erlang:prepare_loading(A, version(A, 4))}) end),
    Four = receive {'DOWN', Ref, process, Maker, {made, Prepared}} -> Prepared end,
    p(of_a_dead_loader, {is_reference(Four), err(fun() -> erlang:finish_loading([Four]) end), A:f()}),
    code:purge(A),
    Self = self(),
    Five = erlang:prepare_loading(A, version(A, 5)),
    spawn(fun() -> Self ! {finished, err(fun() -> erlang:finish_loading([Five]) end)} end),
    p(by_another, {receive {finished, X} -> X end, A:f()}),
    p(used_by_another, err(fun() -> erlang:finish_loading([Five]) end)),
    p(has_on_load_used, err(fun() -> erlang:has_prepared_code_on_load(Five) end)),
    [begin code:purge(M), code:delete(M), code:purge(M) end || M <- [A, B]].

names() ->
    A = code_bad_input_a,
    B = code_bad_input_b,
    p(other_name, err(fun() -> erlang:prepare_loading(B, version(A, 1)) end)),
    p(load_other, [code:load_binary(B, "x", version(A, 1)), code:load_binary(A, "", <<>>)]),
    p(load_module, {err(fun() -> erlang:load_module(B, version(A, 1)) end), erlang:module_loaded(A), erlang:module_loaded(B)}),
    p(load_module_twice, [erlang:load_module(A, version(A, N)) || N <- [1, 2, 3]]),
    p(current, A:f()),
    [code:purge(A), code:delete(A), code:purge(A)].

damaged() ->
    A = code_bad_input_a,
    Bin = version(A, 1),
    Size = byte_size(Bin),
    p(cut, lists:usort([element(1, erlang:prepare_loading(A, binary:part(Bin, 0, N))) || N <- lists:seq(0, Size - 8, 7)])),
    p(load_cut, lists:usort([code:load_binary(A, "x", binary:part(Bin, 0, N)) || N <- [0, 4, 12, 100]])),
    p(not_beam, [erlang:prepare_loading(A, X) || X <- [<<>>, <<"nothing">>, <<0:800>>]]),
    p(no_binary, [err(fun() -> erlang:prepare_loading(A, X) end) || X <- [x, [1], 17, <<1:3>>]]),
    p(none, erlang:module_loaded(A)).

on_load() ->
    M = code_bad_input_m,
    L = erl_anno:new(1),
    Wait = [{attribute, L, on_load, {init, 0}},
            {function, L, init, 0, [{clause, L, [], [], [
                {op, L, '!', {atom, L, code_bad_input}, {tuple, L, [{atom, L, loading}, {call, L, {atom, L, self}, []}]}},
                {'receive', L, [{clause, L, [{var, L, 'X'}], [], [{var, L, 'X'}]}]}]}]}],
    register(code_bad_input, self()),
    Prepared = erlang:prepare_loading(M, version(M, 1, Wait)),
    p(has_on_load, erlang:has_prepared_code_on_load(Prepared)),
    Other = erlang:prepare_loading(code_bad_input_a, version(code_bad_input_a, 1)),
    p(several, {err(fun() -> erlang:finish_loading([Prepared, Other]) end), erlang:module_loaded(code_bad_input_a)}),
    Self = self(),
    [begin
        Loader = spawn(fun() -> Self ! {loaded, code:load_binary(M, "m", version(M, N, Wait))} end),
        Running = receive {loading, Pid} -> Pid end,
        p(running, {is_pid(Running), Running =/= Loader, erlang:module_loaded(M)}),
        Running ! Result,
        p(result, receive {loaded, X} -> X end),
        p(loaded, {erlang:module_loaded(M), err(fun() -> M:f() end)})
     end || {N, Result} <- [{1, no}, {2, ok}, {3, {not_an, atom}}, {4, ok}]],
    p(no_on_load, [err(fun() -> erlang:finish_after_on_load(X, true) end) || X <- [lists, code_bad_input_nope, "x"]]),
    p(call_no_on_load, [err(fun() -> erlang:call_on_load_function(X) end) || X <- [lists, code_bad_input_nope, 1]]).

sticky() ->
    M = code_bad_input_s,
    {module, M} = code:load_binary(M, "s", version(M, 1)),
    code:stick_mod(M),
    p(sticky, [code:load_binary(M, "s", version(M, 2)), code:delete(M), code:atomic_load([{M, "s", version(M, 2)}]),
               code:ensure_modules_loaded([M]), M:f()]),
    code:unstick_mod(M),
    p(unstuck, [code:load_binary(M, "s", version(M, 2)), M:f()]).

arguments() ->
    Calls = [{finish_loading, [x]}, {finish_loading, [[x]]}, {finish_loading, [[make_ref()]]}, {finish_loading, [[]]},
             {finish_loading, [[a | b]]}, {prepare_loading, ["m", <<>>]}, {has_prepared_code_on_load, [x]},
             {has_prepared_code_on_load, [make_ref()]}, {delete_module, ["m"]}, {delete_module, [code_bad_input_nope]},
             {purge_module, ["m"]}, {purge_module, [code_bad_input_nope]}, {check_old_code, [1]}, {check_old_code, [code_bad_input_nope]},
             {check_process_code, [x, lists]}, {check_process_code, [self(), "lists"]}, {check_process_code, [self(), lists, x]},
             {check_process_code, [self(), lists, [x]]}, {check_process_code, [self(), lists, [{async, x}]]},
             {module_loaded, ["m"]}, {load_module, [m, x]}, {load_module, ["m", <<>>]}],
    [p({F, [X || X <- A, not has_ref(X)]}, err(fun() -> apply(erlang, F, A) end)) || {F, A} <- Calls].

has_ref(X) when is_pid(X); is_reference(X) -> true;
has_ref([H | T]) -> has_ref(H) orelse has_ref(T);
has_ref(_) -> false.
