%% Functions of the VM that trap, or run on a dirty scheduler, were called without ever returning, and without return_to.
-module(trace_trapping_bifs).
-export([main/1]).

main(_) ->
    show(maps, from_list, 1, fun() -> map_size(maps:from_list([{N, N} || N <- lists:seq(1, 3000)])) end),
    show(maps, merge, 2, fun() -> map_size(maps:merge(big(1), big(2000))) end),
    show(re, run, 2, fun() -> re:run(lists:duplicate(100, $a), "a+$") end),
    show(binary, split, 2, fun() -> length(binary:split(binary:copy(<<"ab">>, 10000), <<"x">>)) end),
    show(erlang, binary_to_term, 1, fun() -> length(binary_to_term(term_to_binary(lists:seq(1, 20000)))) end),
    show(erlang, term_to_binary, 1, fun() -> byte_size(term_to_binary(lists:seq(1, 20000))) end),
    show(prim_file, read_file, 1, fun() -> prim_file:read_file("/no/such/file") end),
    show(prim_file, get_cwd, 0, fun() -> element(1, prim_file:get_cwd()) end),
    show(erlang, process_info, 2, fun() ->
        Self = self(),
        P = spawn_link(fun() -> receive stop -> Self ! stopped end end),
        Info = process_info(P, priority),
        P ! stop,
        receive stopped -> Info end
    end),
    show(erlang, is_process_alive, 1, fun() -> is_process_alive(whereis(code_server)) end),
    show(erlang, list_to_binary, 1, fun() -> byte_size(list_to_binary(lists:duplicate(100000, $a))) end),
    show(erlang, iolist_to_binary, 1, fun() -> catch iolist_to_binary([lists:duplicate(100000, $a) | x]) end),
    show(lists, member, 2, fun() -> lists:member(0, lists:seq(1, 100000)) end),
    show(lists, keysearch, 3, fun() -> lists:keysearch(0, 1, [{N} || N <- lists:seq(1, 100000)]) end),
    show(erlang, exit, 1, fun() -> catch exit(reason) end),
    show(unicode, characters_to_list, 2, fun() -> length(unicode:characters_to_list(binary:copy(<<"ab">>, 20000), utf8)) end).

big(From) -> maps:from_list([{N, N} || N <- lists:seq(From, From + 3000)]).

%% All that one process tells of calls of the function, with return_trace and exception_trace.
show(M, F, A, Fun) ->
    {module, M} = code:ensure_loaded(M),
    Told = [traced(M, F, A, Fun, Flags, Spec)
            || {Flags, Spec} <- [{[call], [{'_', [], [{return_trace}]}]},
                                 {[call], [{'_', [], [{exception_trace}]}]},
                                 {[call, return_to], []}]],
    io:format("~w:~w/~w ~0tp~n", [M, F, A, Told]).

traced(M, F, A, Fun, Flags, Spec) ->
    Tracer = self(),
    {P, Ref} = spawn_monitor(fun() -> receive go -> ok end, exit({result, Fun()}) end),
    1 = erlang:trace(P, true, [{tracer, Tracer} | Flags]),
    1 = erlang:trace_pattern({M, F, A}, Spec, [local]),
    P ! go,
    Result = receive {'DOWN', Ref, process, P, {result, R}} -> R end,
    Delivered = erlang:trace_delivered(P),
    receive {trace_delivered, P, Delivered} -> ok end,
    erlang:trace_pattern({M, F, A}, false, [local]),
    {short(Result), [short(E) || E <- events(P)]}.

events(P) ->
    receive
        {trace, P, call, {M, F, Args}} -> [{call, M, F, length(Args)} | events(P)];
        {trace, P, return_to, {M, F, A}} -> [{return_to, M, case F of undefined -> F; _ -> fun_of(F) end, A} | events(P)];
        Event when element(1, Event) =:= trace -> [list_to_tuple(tl(tl(tuple_to_list(Event)))) | events(P)]
    after 0 -> []
    end.

fun_of(F) -> hd(string:lexemes(atom_to_list(F), "-")).

short(T) ->
    Hash = erlang:phash2(T),
    case iolist_size(io_lib:format("~0tp", [T])) of
        N when N > 150 -> {long, Hash};
        _ -> T
    end.
