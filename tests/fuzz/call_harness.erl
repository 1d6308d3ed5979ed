%% Calls functions of the VM with arguments from a seed, for call_fuzz.py.
%%
%% Number N of a seed is always the same: a process of its own that makes a few calls, mostly of one module. What a
%% call returns may be an argument of the next, and is put through all that a term can be put through. An argument
%% that the exception's explanation finds bad is replaced and the call made again, so that many calls succeed.
%%
%% In the log stands, before it begins, each number, so that it is there after a crash.
-module(call_harness).
-export([main/1, loop/0, thing/1, thing/2, start_link/0, init/1]).

-record(g, {atoms, pure, functions, by_module, results = [], depth = 0}).

-define(WORDS, 8 bsl 20).
-define(STEPS, 6).
-define(TRIES, 10).
-define(GRACE_MS, 300000).
-define(LOOKS, 20).

main([File]) ->
    {ok, Terms} = file:consult(File),
    C = maps:from_list(Terms),
    %% None of what follows may need the code server, which calls can take away.
    [{module, _} = code:ensure_loaded(M) || M <- [rand, io_lib, io_lib_format, io_lib_pretty, io_lib_fread, gb_trees, lists,
                                                  maps, string, unicode_util, unicode, erl_erts_errors, erl_stdlib_errors,
                                                  erl_kernel_errors, proplists, binary, ets, call_direct, queue, sets,
                                                  ordsets, re, zlib, base64, error_logger, proc_lib, gen, gen_server]],
    {ok, Log} = file:open(maps:get(log, C), [write, raw]),
    logger:remove_handler(default),
    logger:set_primary_config(level, none),
    spawn(fun() -> keeper(self()) end),
    G = prepare(C),
    Numbers = maps:get(numbers, C),
    Until = erlang:monotonic_time(millisecond) + maps:get(milliseconds, C),
    run(Numbers, Until, maps:get(at_once, C), C, G, Log),
    file:write(Log, "finished\n"),
    erlang:halt(0, [{flush, false}]).

prepare(C) ->
    put(pure, maps:get(pure, C)),
    {ok, Victim} = file:read_file(maps:get(victim, C)),
    persistent_term:put(fuzz_victim, Victim),
    Left = maps:get(left_out, C),
    Exported = [{M, F, A} || M <- maps:get(modules, C), {module, _} <- [code:ensure_loaded(M)],
                             {F, A} <- M:module_info(exports), not lists:member({M, F, A}, Left),
                             not lists:member({M, F, '_'}, Left)],
    %% Not asked of this VM which of them there are: another has to draw the same.
    Functions = lists:usort(Exported ++ maps:get(functions, C)),
    ByModule = lists:foldl(fun({M, _, _} = MFA, Map) -> maps:update_with(M, fun(L) -> [MFA | L] end, [MFA], Map) end,
                           #{}, Functions),
    #g{atoms = list_to_tuple(maps:get(atoms, C)), pure = maps:get(pure, C),
       functions = list_to_tuple(Functions), by_module = maps:map(fun(_, L) -> list_to_tuple(L) end, ByModule)}.

%% Things that outlive the calls.
keeper(_) ->
    ets:new(fuzz_table, [named_table, public]),
    ets:new(fuzz_ordered, [named_table, public, ordered_set]),
    ets:new(fuzz_bag, [named_table, public, bag]),
    [ets:insert(T, [{N, {N}, "value"} || N <- lists:seq(1, 300)]) || T <- [fuzz_table, fuzz_ordered, fuzz_bag]],
    register(fuzz_process, spawn(?MODULE, loop, [])),
    persistent_term:put(fuzz_key, {some, "value"}),
    receive never -> ok end.

loop() ->
    receive
        {stop, _} -> ok;
        _ -> loop()
    after 100 -> loop()
    end.

%% ---- running -----------------------------------------------------------------------------------

run({From, To}, Until, AtOnce, C, G, Log) when From =< To ->
    case erlang:monotonic_time(millisecond) < Until of
        true ->
            Last = min(From + AtOnce - 1, To),
            together(lists:seq(From, Last), C, G, Log),
            run({Last + 1, To}, Until, AtOnce, C, G, Log);
        false -> ok
    end;
run({_, _}, _, _, _, _, _) -> ok;
run([], _, _, _, _, _) -> ok;
run(Numbers, Until, AtOnce, C, G, Log) ->
    {Now, Later} = lists:split(min(AtOnce, length(Numbers)), Numbers),
    together(Now, C, G, Log),
    run(Later, Until, AtOnce, C, G, Log).

together(Numbers, C, G, Log) ->
    ok = file:write(Log, [[integer_to_list(N), " "] || N <- Numbers] ++ ["\n"]),
    Self = self(),
    Workers = [begin
                   Options = [monitor, {max_heap_size, #{size => ?WORDS, kill => true, error_logger => false}}],
                   spawn_opt(fun() -> work(N, C, G, Self, Log) end, Options)
               end || N <- Numbers],
    await(Workers, maps:get(limit_ms, C) div ?LOOKS, ?LOOKS, Log),
    leave_order(Log).

%% Those that wait in the call are ended soon, those that work when they have had their time.
await([], _, _, _) -> ok;
await(Workers, _, 0, Log) ->
    [exit(Pid, kill) || {Pid, _} <- Workers],
    ended(Workers, Log);
await(Workers, Ms, Looks, Log) ->
    receive
        {show, Pid, Ref, Text} ->
            file:write(Log, Text),
            Pid ! Ref,
            await(Workers, Ms, Looks, Log);
        {'DOWN', Ref, process, Pid, _} -> await(lists:delete({Pid, Ref}, Workers), Ms, Looks, Log)
    after Ms ->
            [exit(Pid, kill) || {Pid, _} <- Workers, process_info(Pid, status) =:= {status, waiting}],
            await(Workers, Ms, Looks - 1, Log)
    end.

ended([], _) -> ok;
ended(Workers, Log) ->
    receive
        {'DOWN', Ref, process, Pid, _} -> ended(lists:delete({Pid, Ref}, Workers), Log);
        {show, _, _, Text} ->
            file:write(Log, Text),
            ended(Workers, Log)
    after ?GRACE_MS ->
            file:write(Log, "stuck\n"),
            erlang:halt(99, [{flush, false}])
    end.

%% What calls have changed for all is put back, and what they have sent is thrown away.
leave_order(Log) ->
    receive _ -> leave_order(Log)
    after 0 ->
            process_flag(trap_exit, true),
            [try F() catch _:_ -> ok end
             || F <- [fun() -> erlang:trace(all, false, [all]) end,
                      fun() -> erlang:system_flag(multi_scheduling, unblock) end,
                      fun() -> erlang:system_flag(schedulers_online, erlang:system_info(schedulers)) end,
                      fun() -> erlang:system_monitor(undefined) end,
                      fun() -> erts_debug:set_internal_state(test_long_gc_sleep, 0) end,
                      fun() -> erts_debug:set_internal_state(binary_loop_limit, default) end]],
            register_again(),
            %% Processes that calls have made: all that are not older than this.
            [exit(P, kill) || P <- processes(), is_made(P)],
            [catch erlang:port_close(P) || P <- erlang:ports(), catch is_made_port(P)]
    end.

register_again() ->
    case whereis(fuzz_process) of
        undefined -> catch register(fuzz_process, spawn(?MODULE, loop, []));
        _ -> ok
    end.

is_made(P) ->
    case catch process_info(P, [initial_call, registered_name]) of
        [{initial_call, {?MODULE, loop, 0}}, {registered_name, []}] -> true;
        _ -> false
    end.

is_made_port(P) -> erlang:port_info(P, name) =:= {name, "cat"}.

%% ---- one number --------------------------------------------------------------------------------

work(N, C, G, Parent, Log) ->
    rand:seed(exsss, erlang:phash2({maps:get(seed, C), N}, 1 bsl 32)),
    put(parent, Parent),
    put(pure, G#g.pure),
    put(show, case maps:get(show, C) of true -> Log; false -> none end),
    Module = element(2, pick_map(G#g.by_module)),
    _ = steps(rand:uniform(?STEPS), N, Module, G),
    ok.

steps(0, _, _, G) -> G;
steps(Left, N, Module, G) ->
    MFA = case rand:uniform(10) of
              1 -> pick(G#g.functions);
              _ -> pick(Module)
          end,
    G1 = tries(?TRIES, N, MFA, [], G),
    steps(Left - 1, N, Module, G1).

tries(0, _, _, _, G) -> G;
tries(Left, N, {M, F, A} = MFA, Before, G) ->
    Args = case Before of
               [] -> arguments(MFA, G);
               _ -> Before
           end,
    Way = rand:uniform(4),
    show({N, Way, MFA, Args}),
    case call(Way, MFA, Args) of
        {returned, Value} ->
            tell(N, MFA, {returned, Value}, G),
            check(Value),
            G#g{results = lists:sublist([Value | G#g.results], 6)};
        {Class, Reason, Stack} ->
            tell(N, MFA, {Class, Reason}, G),
            check(Reason),
            case bad_arguments(Class, Reason, Stack, M, F, A) of
                Bad when map_size(Bad) =:= 0 ->
                    case rand:uniform(2) of
                        1 -> G;
                        2 -> tries(Left - 1, N, MFA, [], G)
                    end;
                Bad -> tries(Left - 1, N, MFA, replace(Args, 1, Bad, hints(MFA), G), G)
            end
    end.

show(What) ->
    case get(show) of
        none -> ok;
        _ ->
            Ref = make_ref(),
            get(parent) ! {show, self(), Ref, io_lib:format("~0P~n", [What, 60])},
            receive Ref -> ok end
    end.

%% What comes out of a pure function is compared with erl's.
tell(N, MFA, Outcome, #g{pure = true}) ->
    %% The order of a large map's pairs is anybody's own; the hash does not depend on it.
    io:format("~w ~w ~w ~0P~n", [N, MFA, erlang:phash2(normal(Outcome)), normal(Outcome), 60]);
tell(_, _, _, _) -> ok.

normal({error, {undef, _}}) -> {error, undef};
normal(T) -> T.

call(1, {M, F, A}, Args) -> caught(fun() -> call_direct:call({M, F, A}, Args) end);
call(2, {M, F, _}, Args) -> caught(fun() -> apply(M, F, Args) end);
call(3, {M, F, A}, Args) -> caught(fun() -> apply(fun M:F/A, Args) end);
call(4, {M, F, A}, Args) ->
    case get(pure) orelse is_large(Args) of
        true -> call(2, {M, F, A}, Args);
        false ->
            {Pid, Ref} = spawn_opt(fun() -> exit({result, told(caught(fun() -> apply(M, F, Args) end))}) end,
                                   [monitor, {max_heap_size, #{size => ?WORDS, kill => true, error_logger => false}}]),
            receive
                {'DOWN', Ref, process, Pid, {result, R}} -> R;
                {'DOWN', Ref, process, Pid, Why} -> {exit, Why, []}
            after 300 ->
                    exit(Pid, kill),
                    {exit, timeout, []}
            end
    end.

%% What is long only because parts are shared is not for another process.
told(Result) ->
    case is_large(Result) of
        true -> {returned, large};
        false -> Result
    end.

caught(F) ->
    try F() of
        Value -> {returned, Value}
    catch
        Class:Reason:Stack -> {Class, Reason, Stack}
    end.

%% ---- whether what came back is sound -----------------------------------------------------------

check(T) ->
    case is_large(T) of
        true -> ok;
        false ->
            _ = erlang:phash2(T),
            true = T =:= T,
            true = T == T,
            false = T < T,
            _ = {T} < [T],
            Bytes = term_to_binary(T),
            Same = binary_to_term(Bytes),
            _ = {Same =:= T, Same < T},
            _ = erlang:external_size(T),
            _ = parts(T, 300) > 0 andalso erts_debug:size(T),
            _ = erts_debug:size_shared(T),
            _ = io_lib:format("~0tp", [T], [{chars_limit, 300}]),
            Tag = make_ref(),
            self() ! {Tag, T},
            receive {Tag, Again} -> true = same(Again, T) end,
            Table = ets:new(check, []),
            true = ets:insert(Table, {key, T}),
            [{key, Stored}] = ets:lookup(Table, key),
            ets:delete(Table),
            true = same(Stored, T),
            erlang:garbage_collect(),
            _ = erlang:phash2(T),
            ok
    end.

same(A, B) -> A =:= B.

%% Whether it has more than some thousand parts, shared ones counted as often as they are there.
is_large(T) -> parts(T, 5000) =< 0.

parts(_, Left) when Left =< 0 -> 0;
parts([H | T], Left) -> parts(T, parts(H, Left - 1));
parts(T, Left) when is_tuple(T), tuple_size(T) > 5000 -> Left - 5000;
parts(T, Left) when is_tuple(T) -> parts(tuple_to_list(T), Left - 1);
parts(T, Left) when is_map(T), map_size(T) > 5000 -> Left - 5000;
parts(T, Left) when is_map(T) -> parts(maps:to_list(T), Left - 1);
parts(T, Left) when is_bitstring(T) -> Left - 1 - byte_size(T) div 1000;
parts(T, Left) when is_integer(T), abs(T) > 1 bsl 3000 -> Left - 1000;
parts(T, Left) when is_function(T) ->
    {env, Env} = erlang:fun_info(T, env),
    parts(Env, Left - 1);
parts(_, Left) -> Left - 1.

%% ---- which arguments are bad -------------------------------------------------------------------

%% OTP's stack trace of these tells of where they wait, and not always of what they were called with.
bad_arguments(_, _, _, erlang, F, _) when F =:= md5; F =:= crc32; F =:= adler32 -> #{};
bad_arguments(error, Reason, [{M, F, Args, Info} | _] = Stack, M, F, A)
  when is_list(Args), length(Args) =:= A ->
    case lists:keyfind(error_info, 1, Info) of
        {error_info, Map} ->
            Formatter = maps:get(module, Map, M),
            Function = maps:get(function, Map, format_error),
            try Formatter:Function(Reason, Stack) of
                Texts -> maps:filter(fun(K, _) -> is_integer(K) end, Texts)
            catch _:_ -> #{}
            end;
        false -> #{}
    end;
bad_arguments(_, _, _, _, _, _) -> #{}.

replace([], _, _, _, _) -> [];
replace([Arg | Args], I, Bad, [Hint | Hints], G) ->
    New = case Bad of
              #{I := Text} ->
                  case rand:uniform(3) of
                      1 -> kind(Hint, G);
                      _ -> kind(wanted(unicode:characters_to_list(Text)), G)
                  end;
              _ -> Arg
          end,
    [New | replace(Args, I + 1, Bad, Hints, G)].

wanted(Text) ->
    first([{"integer", int}, {"bitstring", bits}, {"binary", binary}, {"tuple", tuple}, {"map", map}, {"list", list},
           {"atom", atom}, {"fun", 'fun'}, {"pid", pid}, {"port", port}, {"reference", ref}, {"ETS", table}, {"table", table},
           {"key", key}, {"float", float}, {"number", number}, {"iolist", iolist}, {"iodata", iolist}, {"string", string},
           {"range", small}, {"boolean", bool}, {"option", options}, {"process", pid}, {"timeout", small},
           {"name", atom}, {"match spec", match_spec}, {"position", small}, {"regular", regex}, {"chardata", chardata}],
          Text).

first([], _) -> any;
first([{Word, Kind} | Rest], Text) ->
    case string:find(Text, Word) of
        nomatch -> first(Rest, Text);
        _ -> Kind
    end.

%% ---- arguments ---------------------------------------------------------------------------------

arguments(MFA, G) -> [kind(K, G) || K <- hints(MFA)].

hints({M, F, A}) ->
    case hint(M, F, A) of
        none -> lists:duplicate(A, any);
        Hints -> Hints
    end.

hint(ets, F, A) when F =/= new, F =/= all, F =/= match_spec_compile, F =/= is_compiled_ms, A > 0 ->
    [table | case {F, A} of
                 {lookup_element, 3} -> [key, small];
                 {select, 2} -> [match_spec];
                 {select, 3} -> [match_spec, small];
                 {select_reverse, 2} -> [match_spec];
                 {select_reverse, 3} -> [match_spec, small];
                 {select_count, 2} -> [match_spec];
                 {select_delete, 2} -> [match_spec];
                 {select_replace, 2} -> [match_spec];
                 {match, 2} -> [pattern];
                 {match, 3} -> [pattern, small];
                 {match_object, 2} -> [pattern];
                 {match_object, 3} -> [pattern, small];
                 {match_delete, 2} -> [pattern];
                 {internal_select_delete, 2} -> [match_spec];
                 {update_counter, 3} -> [key, update];
                 {update_counter, 4} -> [key, update, tuple];
                 {update_element, 3} -> [key, update];
                 {insert, 2} -> [objects];
                 {insert_new, 2} -> [objects];
                 {setopts, 2} -> [options];
                 _ -> lists:duplicate(A - 1, key)
             end];
hint(ets, new, 2) -> [atom, table_options];
hint(ets, match_spec_compile, 1) -> [match_spec];
hint(ets, match_spec_run_r, 3) -> [list, match_spec_compiled, list];
hint(erlang, match_spec_test, 3) -> [any, match_spec, atom];
hint(atomics, new, 2) -> [small, options];
hint(atomics, _, A) -> [atomics | lists:duplicate(A - 1, small)];
hint(counters, new, 2) -> [small, options];
hint(counters, _, A) when A > 0 -> [counters | lists:duplicate(A - 1, small)];
hint(erts_internal, F, A) when F =:= counters_new; F =:= counters_get; F =:= counters_add; F =:= counters_put;
                               F =:= counters_info -> [counters_ref | lists:duplicate(A - 1, small)];
hint(zlib, F, A) when F =/= open_nif, A > 0 -> [zlib | lists:duplicate(A - 1, zlib_argument)];
hint(prim_file, F, A) when A > 0 ->
    case atom_to_list(F) of
        "open_nif" -> [path, options];
        "read_nif" -> [file, small];
        "write_nif" -> [file, iovec];
        "pread_nif" -> [file, small, small];
        "pwrite_nif" -> [file, small, iovec];
        "seek_nif" -> [file, atom, small];
        Name -> case lists:member(Name, ["close_nif", "sync_nif", "truncate_nif", "allocate_nif", "advise_nif",
                                         "file_desc_to_ref_nif", "get_handle_nif", "ipread_s32bu_p32bu_nif"]) of
                    true -> [file | lists:duplicate(A - 1, small)];
                    false -> [path | lists:duplicate(A - 1, any)]
                end
    end;
hint(prim_buffer, F, A) when F =/= new, A > 0 -> [buffer | lists:duplicate(A - 1, iovec_or_small)];
hint(re, run, 2) -> [chardata, regex];
hint(re, run, 3) -> [chardata, regex, re_options];
hint(re, internal_run, 4) -> [chardata, regex, re_options, bool];
hint(re, compile, 1) -> [regex];
hint(re, compile, 2) -> [regex, re_options];
hint(re, inspect, 2) -> [regex, atom];
hint(binary, F, A) when A > 1 ->
    [binary | [case {F, I} of {at, _} -> small; {part, _} -> part; {copy, _} -> small; {_, 2} -> pattern_of_binary;
                   {_, 3} -> options; _ -> any end || I <- lists:seq(2, A)]];
hint(binary, _, 1) -> [binary];
hint(unicode, _, 1) -> [chardata];
hint(unicode, _, A) when A > 1 -> [chardata | lists:duplicate(A - 1, atom)];
hint(maps, F, A) when F =:= put; F =:= get; F =:= update; F =:= remove; F =:= take; F =:= find; F =:= is_key ->
    lists:duplicate(A - 1, key) ++ [map];
hint(maps, _, A) when A > 0 -> [pick({map, list, iterator}) || _ <- lists:seq(1, A)];
hint(lists, F, A) when F =:= keyfind; F =:= keymember; F =:= keysearch -> [key, small | lists:duplicate(A - 2, tuples)];
hint(lists, _, A) -> lists:duplicate(A, list);
hint(erlang, F, 1) when F =:= list_to_binary; F =:= iolist_to_binary; F =:= iolist_size; F =:= iolist_to_iovec;
                        F =:= list_to_bitstring; F =:= md5; F =:= crc32; F =:= adler32 -> [iolist];
hint(erlang, F, A) when F =:= binary_to_term -> [external | lists:duplicate(A - 1, options)];
hint(erlang, F, A) when F =:= process_flag -> lists:duplicate(A - 2, pid) ++ [atom, any];
hint(erlang, F, 2) when F =:= process_info -> [pid, atom];
hint(erlang, spawn_opt, A) -> lists:sublist([mfa_word, mfa_word, list, options], max(1, A - 1)) ++ [options];
hint(erlang, trace, 3) -> [pick({pid, atom}), bool, trace_flags];
hint(erlang, trace_pattern, A) -> [mfa, trace_spec | lists:duplicate(A - 2, options)];
hint(erts_internal, trace, 3) -> [pick({pid, atom}), bool, trace_flags];
hint(erts_internal, trace_pattern, 3) -> [mfa, trace_spec, options];
hint(erlang, F, A) when F =:= '++'; F =:= '--'; F =:= append; F =:= subtract -> lists:duplicate(A, list);
hint(erlang, F, A) when F =:= '+'; F =:= '-'; F =:= '*'; F =:= '/'; F =:= 'div'; F =:= 'rem'; F =:= 'bsl'; F =:= 'bsr';
                        F =:= 'band'; F =:= 'bor'; F =:= 'bxor' -> lists:duplicate(A, number);
hint(erlang, F, A) when F =:= finish_loading; F =:= prepare_loading; F =:= has_prepared_code_on_load ->
    lists:duplicate(A, code);
hint(math, _, A) -> lists:duplicate(A, number);
hint(os, _, A) -> lists:duplicate(A, pick({string, atom, any}));
hint(trace, _, A) -> [pick({session, any, pid, mfa, bool, trace_flags, trace_spec, options}) || _ <- lists:seq(1, A)];
hint(minivm, F, A) when F =:= prepare_bytes; F =:= prepare_in_engine -> lists:duplicate(A, code);
hint(erlang, decode_packet, 3) -> [atom, binary, options];
hint(_, _, _) -> none.

thing(1) -> a;
thing(N) -> {thing, N}.
thing(A, B) -> [A | B].
start_link() -> ignore.
init(_) -> ignore.

pick(T) when is_tuple(T) -> element(rand:uniform(tuple_size(T)), T);
pick(L) -> lists:nth(rand:uniform(length(L)), L).

pick_map(Map) ->
    Keys = lists:sort(maps:keys(Map)),
    %% A module of many functions more often, but not as often as it has functions.
    Weights = [{round(math:sqrt(tuple_size(maps:get(K, Map)))), K} || K <- Keys],
    K = weighted(Weights),
    {K, maps:get(K, Map)}.

weighted(Weights) ->
    Sum = lists:sum([W || {W, _} <- Weights]),
    weighted(rand:uniform(Sum), Weights).
weighted(N, [{W, K} | _]) when N =< W -> K;
weighted(N, [{W, _} | Rest]) -> weighted(N - W, Rest).

deeper(G) -> G#g{depth = G#g.depth + 1}.

any_kinds() ->
    [{8, int}, {4, small}, {2, float}, {10, atom}, {5, binary}, {3, bits}, {4, string}, {8, list}, {3, improper}, {7, tuple},
     {5, map}, {3, 'fun'}, {4, options}, {2, iolist}, {2, chardata}, {1, deep}, {1, key}].
unclean_kinds() ->
    [{5, pid}, {3, port}, {4, ref}, {2, table}, {6, magic}, {3, mfa}, {2, code}, {6, result}, {1, huge}].

kind(any, G = #g{pure = true}) -> kind(weighted(any_kinds()), G);
kind(any, G) -> kind(weighted(any_kinds() ++ unclean_kinds()), G);
kind(result, #g{results = []} = G) -> kind(int, G);
kind(result, #g{results = Rs}) -> pick(Rs);
kind(Kind, #g{depth = 0, results = [_ | _] = Rs, pure = false} = G) ->
    case rand:uniform(8) of
        1 -> pick(Rs);
        2 -> make(any, deeper(G));
        _ -> make(Kind, G)
    end;
kind(Kind, G) -> make(Kind, G).

make(any, G) -> kind(any, G);
make(number, G) -> make(pick({int, int, float}), G);
make(bool, _) -> pick({true, false});
make(int, _) ->
    Base = pick({0, 1, 2, 3, 7, 8, 9, 15, 16, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255, 256, 1000, 1023, 1024, 4000,
                 65535, 65536, 1 bsl 20, 1 bsl 24, 16#10FFFF, 16#D800, 1 bsl 27, 1 bsl 28, 1 bsl 31, 1 bsl 32, 1 bsl 40,
                 1 bsl 58, 1 bsl 59, 1 bsl 60, 1 bsl 61, 1 bsl 62, 1 bsl 63, 1 bsl 64, 1 bsl 128, 1 bsl 2000, 1 bsl 70000}),
    Near = Base + pick({-1, 0, 0, 0, 1}),
    case rand:uniform(4) of 1 -> -Near; _ -> Near end;
make(small, G) ->
    case rand:uniform(8) of
        1 -> make(int, G);
        _ -> rand:uniform(12) - 2
    end;
make(float, _) -> pick({0.0, -0.0, 1.0, -1.5, 1.0e308, -1.0e308, 5.0e-324, 1.0e-10, 3.141592653589793, 1.0e15, 1.0e22,
                        9007199254740993.0, 4294967296.5, 1.8446744073709552e19, 0.1});
make(atom, #g{atoms = Atoms}) ->
    case rand:uniform(3) of
        1 -> pick({true, false, undefined, ok, '', 'a b', infinity, '$1', '_', '$_', '$$', fuzz_process, fuzz_table, lists,
                   erlang, maps, nonode@nohost, some@node, latin1, utf8, little, big, all, error, none, exit, kill, normal,
                   badarg, timeout, fuzz_key, list_to_atom(lists:duplicate(255, $x)), 'über', call_victim});
        _ -> pick(Atoms)
    end;
make(string, _) ->
    [pick({$a, $b, $c, $0, $9, $ , $., $-, $+, $(, $), $[, $], $*, $#, $~, $\\, 0, 200, 255, 256, 16#20AC, 16#1F600, $\n})
     || _ <- lists:seq(1, rand:uniform(12) - 1)];
make(path, _) ->
    Name = pick(["a", "b", "c", "nowhere", "dir", "dir2", "", [0], "x\0y", "ü", [16#20AC], lists:duplicate(300, $x), [16#D800]]),
    pick({Name, catch unicode:characters_to_binary(Name), catch list_to_binary(Name), catch list_to_atom(Name)});
make(binary, G) ->
    case rand:uniform(9) of
        1 -> <<>>;
        2 -> binary(rand:uniform(8));
        3 -> binary(64);
        4 -> binary(65 + rand:uniform(200));
        5 -> B = binary(100), binary:part(B, rand:uniform(10), rand:uniform(80));
        6 -> <<"abc,abd,abc\r\n\r\n">>;
        7 -> unicode:characters_to_binary(make(string, G));
        8 -> N = rand:uniform(70), <<_:3, B:N/binary, _/bits>> = binary(80), B;
        9 -> Empty = <<>>, A = <<Empty/binary, (binary(300))/binary>>, <<A/binary, 1, 2, 3>>
    end;
make(bits, G) ->
    case rand:uniform(4) of
        1 -> make(binary, G);
        2 -> N = rand:uniform(7), <<1:N>>;
        3 -> Skip = rand:uniform(13), Size = rand:uniform(500), <<_:Skip, B:Size/bits, _/bits>> = binary(80), B;
        4 -> <<(binary(rand:uniform(100)))/binary, 5:3>>
    end;
make(list, G) ->
    case rand:uniform(8) of
        1 -> [];
        2 -> lists:seq(1, rand:uniform(40));
        3 -> make(string, G);
        4 -> [key_value(deeper(G)) || _ <- lists:seq(1, rand:uniform(5))];
        5 -> lists:duplicate(rand:uniform(2000), a);
        _ when G#g.depth > 2 -> [a];
        _ -> [kind(any, deeper(G)) || _ <- lists:seq(1, rand:uniform(4))]
    end;
make(tuples, G) -> [make(tuple, deeper(G)) || _ <- lists:seq(1, rand:uniform(5))];
make(improper, G) when G#g.depth > 2 -> [a | b];
make(improper, G) -> [kind(any, deeper(G)), pick({$a, <<"b">>, x}) | kind(any, deeper(G))];
make(tuple, G) when G#g.depth > 2 -> pick({{}, {a}, {1, 2}});
make(tuple, G) ->
    case rand:uniform(6) of
        1 -> {};
        2 -> erlang:make_tuple(rand:uniform(300), x);
        3 -> {kind(key, G), kind(any, deeper(G)), kind(any, deeper(G))};
        _ -> list_to_tuple([kind(any, deeper(G)) || _ <- lists:seq(1, rand:uniform(4))])
    end;
make(map, G) when G#g.depth > 2 -> #{a => b};
make(map, G) ->
    case rand:uniform(5) of
        1 -> #{};
        2 -> maps:from_list([{N, {N}} || N <- lists:seq(1, 20 + rand:uniform(40))]);
        3 -> #{a => 1, "b" => 2, {c} => 3, 1.0 => 4, 1 => 5};
        4 -> maps:from_list([{kind(key, deeper(G)), kind(any, deeper(G))} || _ <- lists:seq(1, rand:uniform(4))]);
        5 -> maps:from_list([{{N, "key"}, <<N:64>>} || N <- lists:seq(1, 3 * rand:uniform(200))])
    end;
make(iterator, G) -> make_iterator(G);
make(key, G) ->
    case rand:uniform(5) of
        1 -> make(atom, G);
        2 -> make(int, G);
        3 -> pick({1, 2, 3, 299, 300, 301, 1.0, {1}, "b", {c}, a, <<"k">>});
        4 -> rand:uniform(40);
        5 -> kind(any, deeper(G))
    end;
make('fun', G) ->
    X = case rand:uniform(2) of 1 -> make(small, G); 2 -> "free" end,
    pick({fun() -> X end, fun(A) -> {A, X} end, fun(A, B) -> [A, B | X] end, fun(_, _, _) -> X end, fun(_) -> true end,
          fun lists:map/2, fun erlang:self/0, fun ?MODULE:thing/1, fun ?MODULE:thing/2, fun nowhere:nothing/1,
          fun(_) -> throw(X) end, fun(A) -> A end, fun erlang:length/1});
make(options, G) ->
    case rand:uniform(6) of
        1 -> [];
        2 -> make(list, G);
        _ -> [option(deeper(G)) || _ <- lists:seq(1, rand:uniform(3))]
    end;
make(iolist, G) ->
    case rand:uniform(4) of
        1 -> make(binary, G);
        2 -> [255, make(binary, G), [[], make(bits, G) | make(binary, G)]];
        _ when G#g.depth > 3 -> [1, 2, 3];
        _ -> [make(pick({iolist, string, binary, bits, small}), deeper(G)) || _ <- lists:seq(1, rand:uniform(4))]
    end;
make(iovec, G) -> [make(binary, G) || _ <- lists:seq(1, rand:uniform(4))];
make(iovec_or_small, G) -> make(pick({iovec, small, int}), G);
make(chardata, G) ->
    case rand:uniform(3) of
        1 -> make(string, G);
        2 -> make(iolist, G);
        3 -> [make(string, G), make(binary, G) | make(binary, G)]
    end;
make(deep, _) ->
    N = pick({100, 10000, 300000}),
    case rand:uniform(5) of
        1 -> nest(fun(T) -> [T] end, N);
        2 -> nest(fun(T) -> {T} end, N);
        3 -> nest(fun(T) -> #{T => a} end, min(N, 3000));
        4 -> nest(fun(T) -> #{a => T} end, N);
        5 -> nest(fun(T) -> [T | T] end, 18)
    end;
make(part, G) -> {make(small, G), make(small, G)};
make(update, G) ->
    pick({make(small, G), {make(small, G), make(int, G)}, {make(small, G), kind(any, deeper(G))},
          {make(small, G), make(int, G), make(int, G), make(int, G)},
          [{make(small, G), make(small, G)}, {make(small, G), make(int, G)}]});
make(objects, G) -> pick({make(tuple, G), make(tuples, G), [{kind(key, G), kind(any, deeper(G))}]});
make(pattern, G) ->
    case rand:uniform(4) of
        1 -> pick({'_', '$1', {'$1', '$2', '_'}, {'$1', {'$1'}, '$2'}, {1, '_', '_'}, {'$99999', '$100000001', '_'}});
        2 -> list_to_tuple([pick({'_', '$1', '$2', '$0', a, make(key, G)}) || _ <- lists:seq(1, rand:uniform(4))]);
        3 -> #{a => '$1', make(key, G) => '_'};
        4 -> [make(key, G) | '$1']
    end;
make(match_spec, G) ->
    case rand:uniform(8) of
        1 -> kind(any, G);
        2 -> [{make(pattern, G), kind(any, G), kind(any, G)}];
        _ -> [{make(pattern, G), [guard(3, G) || _ <- lists:seq(2, rand:uniform(3))],
               [guard(3, G) || _ <- lists:seq(1, rand:uniform(2))]} || _ <- lists:seq(1, rand:uniform(2))]
    end;
make(trace_spec, G) -> pick({true, false, restart, pause, make(match_spec, G), [{'_', [], [{return_trace}]}], [],
                             [{make(list, G), [], [{message, guard(3, G)}]}], {cx_x, 1}});
make(trace_flags, G) ->
    [pick({call, send, 'receive', procs, running, exiting, garbage_collection, timestamp, monotonic_timestamp, arity,
           return_to, silent, set_on_spawn, ports, {tracer, kind(pid, G)}, {tracer, call_victim, make(any, G)}, make(atom, G)})
     || _ <- lists:seq(1, rand:uniform(3))];
make(table_options, G) ->
    [pick({set, bag, duplicate_bag, ordered_set, public, protected, private, named_table, {keypos, make(small, G)}, compressed,
           {read_concurrency, true}, {write_concurrency, true}, {write_concurrency, auto}, {decentralized_counters, true},
           {heir, none}, {heir, kind(pid, G), make(any, deeper(G))}, option(G)}) || _ <- lists:seq(1, rand:uniform(3))];
make(regex, G) ->
    case rand:uniform(6) of
        1 -> make(chardata, G);
        2 -> {ok, R} = re:compile("(a|b)*c(?<n>.)"), R;
        3 -> {ok, R} = re:compile("x*"), list_to_tuple([pick({E, make(any, deeper(G))}) || E <- tuple_to_list(R)]);
        _ -> pick({"(a+)+b", "a|b|c", "[[:alpha:]]+", "(?i)abc", "\\d{1,65535}", "(", "a{99999}", "(?<=a)b", "\\x{20AC}", ".*",
                   "^$", "(?R)", "((((((((((a))))))))))\\10", "(?(1)a|b)", lists:duplicate(3000, $()})
    end;
make(re_options, G) ->
    [pick({global, {capture, all, binary}, {capture, pick({all, none, first, all_names, [1, 2], ["n"], make(any, deeper(G))}),
                                             pick({index, list, binary, x})}, unicode, notbol, {offset, make(small, G)}, caseless,
           {match_limit, make(small, G)}, {newline, pick({cr, lf, any, x})}, anchored, ungreedy, dupnames, report_errors, option(G)})
     || _ <- lists:seq(1, rand:uniform(3))];
make(pattern_of_binary, G) ->
    case rand:uniform(case G#g.pure of true -> 2; false -> 5 end) + case G#g.pure of true -> 3; false -> 0 end of
        1 -> binary:compile_pattern(<<"ab">>);
        2 -> binary:compile_pattern([<<"a">>, <<"bc">>, <<"abc">>]);
        3 -> {K, _} = binary:compile_pattern(<<"ab">>), {pick({K, bm, ac}), make(magic, G#g{pure = false})};
        4 -> [make(binary, G), <<"b">>];
        5 -> make(binary, G)
    end;
make(external, G) ->
    Bytes = term_to_binary(kind(any, deeper(G)), pick({[], [compressed], [{minor_version, 0}], [{minor_version, 2}]})),
    case rand:uniform(4) of
        1 -> Bytes;
        2 -> pick({<<131, 80, 16#FFFFFFFF:32, 1, 2, 3>>, <<131, 108, 16#FFFFFFFF:32>>, <<131, 111, 16#7FFFFFFF:32, 0, 1>>,
                   <<131, 104, 2, 108, 5:32, 106>>, <<131, 116, 1000:32, 97, 1>>, <<131, 77, 3:32, 0, 1, 2, 3>>});
        _ ->
            At = rand:uniform(byte_size(Bytes)) - 1,
            <<Front:At/binary, Byte, Rest/binary>> = Bytes,
            <<Front/binary, (Byte bxor rand:uniform(255)), Rest/binary>>
    end;
make(zlib_argument, G) -> make(pick({small, small, iovec, iolist, binary}), G);
make(mfa, G) ->
    pick({{'_', '_', '_'}, {lists, '_', '_'}, {lists, map, 2}, {?MODULE, thing, 1}, {make(atom, G), '_', '_'},
          {make(atom, G), make(atom, G), make(small, G)}, {erlang, abs, 1}, on_load, send, 'receive', {lists, reverse, 1}});
make(mfa_word, _) -> pick({lists, reverse, erlang, self, ?MODULE, thing, nowhere});
make(Kind, #g{pure = true} = G) -> pure_instead(Kind, G);
make(pid, _) ->
    case rand:uniform(8) of
        1 -> self();
        2 -> spawn(fun() -> ok end);
        3 -> spawn(?MODULE, loop, []);
        4 -> binary_to_term(<<131, 88, 119, 4, "x@yz", 5:32, 0:32, 7:32>>);
        5 -> list_to_pid("<0.99999.0>");
        6 -> {fuzz_process, node()};
        7 -> spawn_link(?MODULE, loop, []);
        8 -> case whereis(fuzz_process) of undefined -> self(); P -> P end
    end;
make(port, _) ->
    case rand:uniform(4) of
        1 -> open_port({spawn, "cat"}, [binary]);
        2 -> binary_to_term(<<131, 89, 119, 4, "x@yz", 5:32, 7:32>>);
        3 -> P = open_port({spawn, "cat"}, []), port_close(P), P;
        4 -> list_to_port("#Port<0.3>")
    end;
make(ref, _) ->
    case rand:uniform(7) of
        1 -> make_ref();
        2 -> erlang:start_timer(100000, self(), x);
        3 -> monitor(process, spawn(?MODULE, loop, []));
        4 -> alias();
        5 -> binary_to_term(<<131, 90, 3:16, 119, 4, "x@yz", 5:32, 7:32, 8:32, 9:32>>);
        6 -> list_to_ref("#Ref<0.1.2.3>");
        7 -> erlang:send_after(100000, self(), x)
    end;
make(table, _) ->
    case rand:uniform(5) of
        1 -> pick({fuzz_table, fuzz_ordered, fuzz_bag});
        2 -> T = ets:new(t, [public]), ets:delete(T), T;
        _ ->
            T = ets:new(t, [pick({set, bag, duplicate_bag, ordered_set}), pick({public, private}) | pick({[], [compressed]})]),
            ets:insert(T, [{N, {N}, "v"} || N <- lists:seq(1, pick({0, 3, 60}))]),
            T
    end;
make(atomics, _) -> atomics:new(rand:uniform(8), [{signed, pick({true, false})}]);
make(counters, _) -> counters:new(rand:uniform(8), [pick({atomics, write_concurrency})]);
make(counters_ref, G) -> {_, Ref} = make(counters, G), Ref;
make(zlib, G) ->
    case rand:uniform(6) of
        1 -> make(any, deeper(G));
        2 -> Z = zlib:open(), zlib:inflateInit(Z), Z;
        3 -> Z = zlib:open(), zlib:deflateInit(Z), Z;
        4 -> Z = zlib:open(), zlib:close(Z), Z;
        _ -> zlib:open()
    end;
make(file, G) ->
    case rand:uniform(6) of
        1 -> make(any, deeper(G));
        _ ->
            {ok, {file_descriptor, prim_file, Map}} = file:open("a", [raw, read, write]),
            case rand:uniform(4) of
                1 -> file:close({file_descriptor, prim_file, Map});
                _ -> ok
            end,
            maps:get(handle, Map)
    end;
make(buffer, G) ->
    case rand:uniform(6) of
        1 -> make(any, deeper(G));
        _ -> B = prim_buffer:new(), prim_buffer:write(B, [<<"some bytes">>]), B
    end;
make(session, _) ->
    case rand:uniform(2) of
        1 -> trace;
        2 -> try trace:session_create(fuzz, self(), []) catch _:_ -> make_ref() end
    end;
make(match_spec_compiled, G) -> ets:match_spec_compile(pick({[{'_', [], ['$_']}], [{{'$1', '_'}, [guard(1, G)], ['$1']}]}));
make(code, G) ->
    case rand:uniform(6) of
        1 -> make(binary, G);
        2 -> victim();
        3 -> erlang:prepare_loading(call_victim, victim());
        4 -> [erlang:prepare_loading(call_victim, victim())];
        5 -> call_victim;
        6 -> make(any, deeper(G))
    end;
make(magic, G) ->
    case rand:uniform(12) of
        1 -> make(counters_ref, G);
        2 -> make(table, G);
        3 -> make(zlib, G);
        4 -> make(file, G);
        5 -> make(buffer, G);
        6 -> ets:match_spec_compile([{'_', [], ['$_']}]);
        7 -> element(2, binary:compile_pattern([<<"ab">>, <<"c">>]));
        8 -> erlang:prepare_loading(call_victim, victim());
        9 -> make(session, G);
        10 -> {ok, R} = re:compile("a(b)"), R;
        _ -> make(atomics, G)
    end;
make(huge, _) ->
    case rand:uniform(4) of
        1 -> lists:duplicate(200000, $a);
        2 -> binary:copy(<<"abcdefgh">>, 200000);
        3 -> erlang:make_tuple(200000, []);
        4 -> maps:from_list([{N, N} || N <- lists:seq(1, 20000)])
    end.

pure_instead(_, G) -> kind(weighted(any_kinds()), deeper(G)).

make_iterator(#g{pure = true} = G) -> make(map, G);
make_iterator(G) ->
    It = maps:iterator(make(map, G)),
    case rand:uniform(3) of
        1 -> [pick({P, make(int, G), make(any, deeper(G))}) || P <- It, is_integer(P)] ++ tl(It);
        _ -> It
    end.

nest(F, N) -> nest(F, N, []).
nest(_, 0, T) -> T;
nest(F, N, T) -> nest(F, N - 1, F(T)).

binary(N) -> << <<(byte(rand:uniform(256) - 1))>> || _ <- lists:seq(1, N) >>.
byte($/) -> $0;  % no path leads out of the folder
byte(B) -> B.

key_value(G) -> {make(key, G), kind(any, deeper(G))}.

option(G) ->
    case rand:uniform(4) of
        1 -> {make(atom, G), kind(any, deeper(G))};
        2 -> {make(atom, G), make(small, G)};
        3 -> {make(atom, G), make(atom, G)};
        4 -> make(atom, G)
    end.

guard(0, G) -> pick({'$1', '$2', '$_', '$$', make(small, G), {const, make(any, deeper(G))}, true, make(key, G)});
guard(N, G) ->
    case rand:uniform(4) of
        1 -> guard(0, G);
        2 -> {pick({'+', '-', '*', '/', 'div', 'rem', '=:=', '==', '<', '>', 'and', 'or', 'andalso', 'orelse', 'bsl', 'bsr',
                    element, 'band', 'xor', binary_part, is_map_key, map_get, is_record, is_function}),
              guard(N - 1, G), guard(N - 1, G)};
        3 -> {pick({'not', hd, tl, length, size, abs, is_list, is_tuple, round, node, tuple_size, map_size, byte_size, bit_size,
                    message, get_tcw, display, exception_trace, process_dump, enable_trace, make(atom, G)}), guard(N - 1, G)};
        4 -> pick({{{guard(N - 1, G), guard(N - 1, G)}}, [guard(N - 1, G)], #{a => guard(N - 1, G)}, {self}, {caller}, {return_trace},
                   {binary_part, guard(N - 1, G), guard(N - 1, G), guard(N - 1, G)}, {make(atom, G), guard(N - 1, G)}})
    end.

victim() -> persistent_term:get(fuzz_victim, <<>>).
