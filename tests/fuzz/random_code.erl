%% Loads the modules of a folder, one after the other, and calls their functions: random_code.py draws them. A line for
%% each file, or each call: the number of the file, then what came of it.
-module(random_code).
-export([main/1]).

-define(LIMIT_MS, 300).

main([Folder]) ->
    {ok, Names} = prim_file:list_dir(Folder),
    Sink = ets:new(sink, [public]),
    erlang:system_flag(backtrace_depth, 4),
    [file(Folder, Name, Sink) || Name <- lists:sort(Names), lists:suffix(".beam", Name)],
    ok.

file(Folder, Name, Sink) ->
    {ok, Bytes} = prim_file:read_file(Folder ++ "/" ++ Name),
    Module = list_to_atom(filename:rootname(Name)),
    say(Name, begin_),
    case erlang:prepare_loading(Module, Bytes) of
        {error, Why} ->
            say(Name, {refused, Why});
        Prepared ->
            ok = erlang:finish_loading([Prepared]),
            [call(Name, Module, F, A, Sink) || {F, A} <- lists:sort(erlang:get_module_info(Module, exports))],
            true = code:delete(Module),
            code:purge(Module)
    end.

%% Whatever the function leaves must be a term: it is looked through, copied, written and collected.
call(Name, Module, F, A, Sink) ->
    {Pid, Ref} = spawn_opt(fun() -> exit({came, outcome(Module, F, arguments(A), Sink)}) end,
                           [monitor, {max_heap_size, #{size => 1 bsl 20, kill => true, error_logger => false}}]),
    receive
        {'DOWN', Ref, _, _, {came, Outcome}} -> say(Name, {F, Outcome});
        {'DOWN', Ref, _, _, _} -> say(Name, {F, ended})
    after ?LIMIT_MS ->
        exit(Pid, kill),
        receive {'DOWN', Ref, _, _, _} -> say(Name, {F, ran_on}) end
    end.

outcome(Module, F, Arguments, Sink) ->
    Outcome = try {value, apply(Module, F, Arguments)}
              catch Class:Reason:Trace -> {Class, Reason, [{M, G, B} || {M, G, B, _} <- Trace]}
              end,
    erlang:garbage_collect(),
    self() ! Outcome,
    receive Outcome -> ok after 0 -> ok end,
    ets:insert(Sink, {outcome, Outcome}),
    [{outcome, Again}] = ets:lookup(Sink, outcome),
    true = Again == Outcome,
    true = erts_debug:flat_size(Outcome) >= 0,
    Back = binary_to_term(term_to_binary(Outcome)),
    {Back == Outcome, erlang:phash2(Back) =:= erlang:phash2(Outcome), shown(Outcome)}.

shown(Outcome) -> lists:flatten(io_lib:format("~0P", [plain(Outcome, 4), 60])).

%% Maps in an order that is the same in all VMs: where a fun is among the keys of a large one, its address decides.
plain(M, Depth) when is_map(M), Depth > 0 ->
    {map, lists:sort([{plain(K, Depth - 1), plain(V, Depth - 1)} || {K, V} <- maps:to_list(M)])};
plain(T, Depth) when is_tuple(T), Depth > 0 -> list_to_tuple([plain(E, Depth - 1) || E <- tuple_to_list(T)]);
plain([H | T], Depth) when Depth > 0 -> [plain(H, Depth - 1) | plain(T, Depth)];
plain(T, _) -> T.

say(Name, What) -> io:put_chars(io_lib:format("~s ~0p~n", [Name, What])).

arguments(A) ->
    Bytes = list_to_binary(lists:seq(1, 100)),
    <<_:3, Bits:77/bitstring, _/bitstring>> = Bytes,
    Pool = {[], [a | b], [1, 2, 3], {}, {a, 1}, {b, 2.5, "x"}, #{}, #{a => 1, 2 => b}, maps:from_list([{N, N} || N <- lists:seq(1, 50)]),
            <<>>, <<"abc">>, Bytes, Bits, 0, -1, 1 bsl 59, 1 bsl 64, -(1 bsl 200), 1.5, a, true, undefined, self(),
            make_ref(), fun lists:sum/1, fun(X) -> {X, A} end, atomics:new(2, []), <<195, 164, 226, 130, 172>>},
    arguments(A, 7 * A, Pool).

arguments(0, _, _) -> [];
arguments(A, N, Pool) -> [element(1 + N rem tuple_size(Pool), Pool) | arguments(A - 1, N * 5 + 3, Pool)].
