%% Calls of the library and of the VM's own functions, each some milliseconds: `NAME MICROSECONDS`, the
%% least of four. library_calls.py runs it on erl and on minivm.
-module(library_calls).
-export([main/1, start/0, init/1, handle_call/3, handle_cast/2]).
-record(r, {a, b, c}).
start() -> main(init:get_plain_arguments()), halt(0).
main(Wanted) ->
    [io:format("~s ~b~n", [Name, lists:min([time(F) || _ <- [1, 2, 3, 4]])])
     || {Name, F} <- benches(), Wanted =:= [] orelse lists:member(atom_to_list(Name), Wanted)],
    ok.
time(F) ->
    Self = self(),
    spawn(fun() ->
                  erlang:garbage_collect(),
                  Before = erlang:monotonic_time(microsecond),
                  F(),
                  Self ! {time, erlang:monotonic_time(microsecond) - Before}
          end),
    receive {time, T} -> T end.
init(_) -> {ok, 0}.
handle_call({add, N}, _, S) -> {reply, S, S + N}.
handle_cast({add, N}, S) -> {noreply, S + N}.
file_name() -> "library_calls.tmp".
rep(0, _) -> ok;
rep(N, F) -> F(), rep(N-1, F).
repi(0, _) -> ok;
repi(N, F) -> F(N), repi(N-1, F).
benches() ->
    Text = iolist_to_binary(lists:duplicate(2000,
         <<"The quick brown fox, jumps over the lazy dog; 12345\n">>)),
    TextL = binary_to_list(binary:part(Text, 0, 20000)),
    Seq = lists:seq(1, 100000),
    Rand = [erlang:phash2(X) || X <- Seq],
    Term = [{X, integer_to_binary(X), #{a => X, b => [X, X+1.5]}, "abc", foo} || X <- lists:seq(1, 5000)],
    TB = term_to_binary(Term),
    M = maps:from_list([{X, X} || X <- Seq]),
    [{ets_set_insert, fun() -> T = ets:new(t, [set]), repi(100000, fun(I) -> ets:insert(T, {I, I,
         foo}) end), ets:delete(T) end},
     {ets_set_lookup, fun() -> T = ets:new(t, [set]), repi(1000, fun(I) -> ets:insert(T, {I, I, foo}) end),
          rep(200, fun() -> repi(1000, fun(I) -> ets:lookup(T, I) end) end), ets:delete(T) end},
     {ets_pair_lookup, fun() -> T = ets:new(t, [set]), Keys = [{I, I + 1} || I <- lists:seq(1, 1000)],
          lists:foreach(fun(K) -> ets:insert(T, {K, foo}) end, Keys),
          rep(200, fun() -> lists:foreach(fun(K) -> ets:lookup(T, K) end, Keys) end), ets:delete(T) end},
     {ets_ordered_insert, fun() -> T = ets:new(t, [ordered_set]), lists:foreach(fun(I) -> ets:insert(T, {I,
          I, foo}) end, Rand), ets:delete(T) end},
     {ets_ordered_next, fun() -> T = ets:new(t, [ordered_set]), repi(20000, fun(I) -> ets:insert(T, {I,
          I}) end), rep(5, fun() -> walk(T, ets:first(T)) end), ets:delete(T) end},
     {ets_update_counter, fun() -> T = ets:new(t, [set, public]), ets:insert(T, {k, 0}), rep(200000,
          fun() -> ets:update_counter(T, k, 1) end), ets:delete(T) end},
     {ets_select, fun() -> T = ets:new(t, [set]), repi(20000, fun(I) -> ets:insert(T, {I, I rem 10,
          foo}) end), rep(10, fun() -> ets:select(T, [{{'$1', 3, '_'}, [{'>', '$1', 100}], ['$1']}]) end),
          ets:delete(T) end},
     {ets_match, fun() -> T = ets:new(t, [bag]), repi(20000, fun(I) -> ets:insert(T, {I rem 100, I}) end),
          rep(10, fun() -> ets:match(T, {'$1', 77}) end), ets:delete(T) end},
     {ets_foldl, fun() -> T = ets:new(t, [set]), repi(20000, fun(I) -> ets:insert(T, {I, I}) end), rep(5,
          fun() -> ets:foldl(fun({_, V}, A) -> V + A end, 0, T) end), ets:delete(T) end},
     {ets_tab2list, fun() -> T = ets:new(t, [set]), repi(20000, fun(I) -> ets:insert(T, {I, "hello",
          <<"abc">>}) end), rep(10, fun() -> ets:tab2list(T) end), ets:delete(T) end},
     {gen_server_call, fun() -> {ok, P} = gen_server:start(library_calls, [], []), rep(30000,
          fun() -> gen_server:call(P, {add, 1}) end), gen_server:stop(P) end},
     {gen_server_cast, fun() -> {ok, P} = gen_server:start(library_calls, [], []), rep(50000,
          fun() -> gen_server:cast(P, {add, 1}) end), gen_server:call(P, {add, 1}), gen_server:stop(P) end},
     {msg_big, fun() -> P = spawn(fun() -> sink(200) end), R = monitor(process, P), rep(200,
          fun() -> P ! Term end), receive {'DOWN', R, _, _, _} -> ok end end},
     {spawn_monitor, fun() -> rep(20000, fun() -> {_, R} = spawn_monitor(fun() -> ok end), receive {'DOWN',
          R, _, _, _} -> ok end end) end},
     {spawn_link_many, fun() -> process_flag(trap_exit, true),
          Ps = [spawn_link(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 10000)],
          [P ! stop || P <- Ps], [receive {'EXIT', P, _} -> ok end || P <- Ps] end},
     {timers, fun() -> Rs = [erlang:send_after(100000, self(), x) || _ <- lists:seq(1, 20000)],
          [erlang:cancel_timer(R) || R <- Rs] end},
     {t2b, fun() -> rep(10, fun() -> term_to_binary(Term) end) end},
     {b2t, fun() -> rep(10, fun() -> binary_to_term(TB) end) end},
     {t2b_comp, fun() -> rep(2, fun() -> term_to_binary(Term, [compressed]) end) end},
     {bin_split, fun() -> rep(20, fun() -> binary:split(Text, <<"\n">>, [global]) end) end},
     {bin_match, fun() -> rep(50, fun() -> binary:matches(Text, [<<"fox">>, <<"dog">>]) end) end},
     {bin_replace, fun() -> rep(20, fun() -> binary:replace(Text, <<"quick">>, <<"slow">>,
          [global]) end) end},
     {re_run, fun() -> {ok, RE} = re:compile("([a-z]+) jumps"), rep(5, fun() -> re:run(Text, RE, [global,
          {capture, all, binary}]) end) end},
     {re_split, fun() -> rep(5, fun() -> re:split(Text, "[ ,;]+") end) end},
     {string_split, fun() -> rep(20, fun() -> string:split(Text, "\n", all) end) end},
     {string_tokens, fun() -> rep(50, fun() -> string:tokens(TextL, " ,") end) end},
     {string_lexemes, fun() -> rep(20, fun() -> string:lexemes(TextL, " ,") end) end},
     {string_upper, fun() -> rep(20, fun() -> string:uppercase(TextL) end) end},
     {string_length_u, fun() -> rep(20, fun() -> string:length(TextL) end) end},
     {unicode_l2b, fun() -> rep(100, fun() -> unicode:characters_to_binary(TextL) end) end},
     {unicode_b2l, fun() -> rep(30, fun() -> unicode:characters_to_list(Text) end) end},
     {io_lib_format, fun() -> rep(20000, fun() -> io_lib:format("~p ~s ~w ~b~n", [{a, [1,2,3]}, "text",
          foo, 42]) end) end},
     {io_lib_p_term, fun() -> rep(1, fun() -> lists:flatten(io_lib:format("~p", [lists:sublist(Term,
          500)])) end) end},
     {float_to_list, fun() -> repi(100000, fun(I) -> float_to_list(I / 7) end) end},
     {float_short, fun() -> repi(50000, fun(I) -> float_to_list(I / 7, [short]) end) end},
     {int_to_list, fun() -> repi(200000, fun(I) -> integer_to_list(I) end) end},
     {list_to_int, fun() -> rep(200000, fun() -> list_to_integer("123456789") end) end},
     {list_to_float, fun() -> rep(100000, fun() -> list_to_float("1234.56789") end) end},
     {fact_big, fun() -> rep(3, fun() -> fact(2000, 1) end) end},
     {big_muldiv, fun() -> A = fact(500, 1), B = fact(300, 1), rep(5000, fun() -> {A div B, A rem B,
          A * B} end) end},
     {big_to_list, fun() -> A = fact(1000, 1), rep(50, fun() -> integer_to_list(A) end) end},
     {lists_sort, fun() -> rep(3, fun() -> lists:sort(Rand) end) end},
     {lists_sort_fun, fun() -> lists:sort(fun(A, B) -> A >= B end, Rand) end},
     {lists_keysort, fun() -> KL = [{X, a} || X <- Rand], rep(3, fun() -> lists:keysort(1, KL) end) end},
     {lists_keyfind, fun() -> KL = [{X, a} || X <- lists:seq(1, 100)], repi(100000,
          fun(I) -> lists:keyfind(I rem 100, 1, KL) end) end},
     {lists_member, fun() -> KL = lists:seq(1, 100), repi(100000, fun(I) -> lists:member(I rem 100,
          KL) end) end},
     {lists_reverse, fun() -> rep(50, fun() -> lists:reverse(Seq) end) end},
     {lists_append, fun() -> rep(50, fun() -> Seq ++ [a] end) end},
     {lists_subtract, fun() -> rep(5, fun() -> Seq -- Rand end) end},
     {lists_usort, fun() -> rep(3, fun() -> lists:usort(Rand) end) end},
     {lists_foldl, fun() -> rep(50, fun() -> lists:foldl(fun(X, A) -> X + A end, 0, Seq) end) end},
     {lists_map_filter, fun() -> rep(20, fun() -> lists:filter(fun(X) -> X rem 2 =:= 0 end,
          lists:map(fun(X) -> X * 3 end, Seq)) end) end},
     {maps_put_seq, fun() -> lists:foldl(fun(X, A) -> A#{X => X} end, #{}, Seq) end},
     {maps_get, fun() -> rep(3, fun() -> lists:foreach(fun(X) -> maps:get(X, M) end, Seq) end) end},
     {maps_fold, fun() -> rep(5, fun() -> maps:fold(fun(_, V, A) -> V + A end, 0, M) end) end},
     {maps_map, fun() -> rep(5, fun() -> maps:map(fun(_, V) -> V + 1 end, M) end) end},
     {maps_to_list, fun() -> rep(10, fun() -> maps:to_list(M) end) end},
     {maps_from_list, fun() -> KL = [{X, X} || X <- Rand], rep(3, fun() -> maps:from_list(KL) end) end},
     {maps_merge, fun() -> M2 = maps:from_list([{X, y} || X <- Rand]), rep(5, fun() -> maps:merge(M,
          M2) end) end},
     {maps_iter, fun() -> rep(5, fun() -> it(maps:next(maps:iterator(M))) end) end},
     {maps_small_upd, fun() -> repi(300000, fun(I) -> #{a => I, b => 2, c => 3} end) end},
     {maps_pair_keys, fun() -> Keys = [{I, I + 1} || I <- lists:seq(1, 10000)], Pairs = maps:from_list([{K, 1} || K <- Keys]),
          rep(30, fun() -> lists:foreach(fun(K) -> maps:get(K, Pairs) end, Keys) end) end},
     {maps_bin_keys, fun() -> K = [integer_to_binary(X) || X <- lists:seq(1, 10000)],
          MM = maps:from_list([{X, 1} || X <- K]), rep(10, fun() -> [maps:get(X, MM) || X <- K] end) end},
     {dict, fun() -> lists:foldl(fun(X, D) -> dict:store(X, X, D) end, dict:new(), lists:sublist(Rand,
          20000)) end},
     {gb_trees, fun() -> lists:foldl(fun(X, D) -> gb_trees:enter(X, X, D) end, gb_trees:empty(),
          lists:sublist(Rand, 20000)) end},
     {orddict, fun() -> lists:foldl(fun(X, D) -> orddict:store(X, X, D) end, orddict:new(),
          lists:sublist(Rand, 1000)) end},
     {sets, fun() -> sets:size(lists:foldl(fun(X, D) -> sets:add_element(X, D) end, sets:new(),
          lists:sublist(Rand, 20000))) end},
     {queue, fun() -> Q = lists:foldl(fun queue:in/2, queue:new(), Seq), drain(queue:out(Q)) end},
     {array, fun() -> A = lists:foldl(fun(X, A) -> array:set(X, X, A) end, array:new(), lists:seq(0,
          30000)), array:foldl(fun(_, V, S) -> V + S end, 0, A) end},
     {digraph, fun() -> G = digraph:new(), [digraph:add_vertex(G, I) || I <- lists:seq(1, 1000)],
          [digraph:add_edge(G, I, (I * 7) rem 1000 + 1) || I <- lists:seq(1, 1000)],
          digraph_utils:strong_components(G), digraph:delete(G) end},
     {pdict, fun() -> repi(200000, fun(I) -> {put(I band 63, I), get(I band 31)} end) end},
     {persistent_term, fun() -> persistent_term:put(k, #{a => 1}), rep(300000,
          fun() -> persistent_term:get(k) end) end},
     {counters, fun() -> C = counters:new(4, []), rep(300000, fun() -> counters:add(C, 1, 1) end) end},
     {atomics, fun() -> C = atomics:new(4, []), rep(300000, fun() -> atomics:add_get(C, 1, 1) end) end},
     {base64, fun() -> rep(3, fun() -> base64:decode(base64:encode(Text)) end) end},
     {md5, fun() -> rep(100, fun() -> erlang:md5(Text) end) end},
     {crc32, fun() -> rep(200, fun() -> erlang:crc32(Text) end) end},
     {phash2_term, fun() -> rep(10, fun() -> erlang:phash2(Term) end) end},
     {b_compr, fun() -> rep(10, fun() -> << <<(X bxor 42)>> || <<X>> <= Text >> end) end},
     {b_append, fun() -> lists:foldl(fun(X, A) -> <<A/binary, X:32>> end, <<>>, Seq) end},
     {b_words, fun() -> rep(10, fun() -> words(Text, 0) end) end},
     {iolist_size, fun() -> IL = [[integer_to_list(X), <<"x">>] || X <- lists:seq(1, 20000)], rep(20,
          fun() -> {iolist_size(IL), iolist_to_binary(IL)} end) end},
     {atoms, fun() -> repi(100000, fun(I) -> {list_to_atom("a" ++ integer_to_list(I rem 1000)),
          atom_to_list(foo)} end) end},
     {bin_to_atom, fun() -> rep(200000, fun() -> binary_to_existing_atom(<<"foo">>, utf8) end) end},
     {tuples_setel, fun() -> T = erlang:make_tuple(50, 0), repi(200000, fun(I) -> setelement(I rem 50 + 1,
          T, I) end) end},
     {records, fun() -> repi(500000, fun(I) -> R = #r{a=I,b=2}, R#r{c=R#r.a} end) end},
     {funs, fun() -> F = fun(A, B) -> A + B end, repi(500000, fun(I) -> F(I, 1) end) end},
     {apply, fun() -> repi(300000, fun(I) -> {apply(erlang, abs, [I]), apply(lists, last, [[I]])} end) end},
     {try_catch, fun() -> repi(300000, fun(I) -> try thrower(I) catch throw:X -> X end end) end},
     {error_stack, fun() -> repi(100000, fun(I) -> try error({bad, I}) catch error:_:S -> S end end) end},
     {float_math, fun() -> repi(300000, fun(I) -> math:sqrt(I) + math:sin(I) * math:pow(I, 0.5) end) end},
     {rand, fun() -> rand:seed(exsss, 1), rep(200000, fun() -> rand:uniform(1000) end) end},
     {calendar, fun() -> repi(20000,
          fun(I) -> calendar:gregorian_seconds_to_datetime(63000000000 + I * 1000) end) end},
     {erl_scan, fun() -> S = lists:append(lists:duplicate(200,
          "foo(X, Y) -> case X of {a, B} when B > 1 -> [B | Y]; _ -> \"abc\" end.\n")), rep(3,
          fun() -> erl_scan:string(S) end) end},
     {compile_forms, fun() -> comp(60) end},
     {proplists, fun() -> PL = [{list_to_atom("k" ++ integer_to_list(X)), X} || X <- lists:seq(1, 50)],
          rep(20000, fun() -> proplists:get_value(k40, PL) end) end},
     {lists_zip, fun() -> rep(10, fun() -> lists:unzip(lists:zip(Seq, Seq)) end) end},
     {lists_nth, fun() -> KL = lists:seq(1, 200), repi(50000, fun(I) -> lists:nth(I rem 200 + 1,
          KL) end) end},
     {lists_flatten, fun() -> D = [[X, [X, [X]]] || X <- lists:seq(1, 20000)], rep(5,
          fun() -> lists:flatten(D) end) end},
     {cmp_terms, fun() -> A = {Term, 1}, B = {binary_to_term(TB), 1}, rep(20, fun() -> A =:= B end) end},
     {garbage, fun() -> Big = lists:seq(1, 300000), rep(20, fun() -> erlang:garbage_collect() end),
          length(Big) end},
     {json_enc, fun() -> rep(2, fun() -> enc(Term2 = [[{<<"id">>, X}, {<<"name">>, <<"foo bar">>},
          {<<"v">>, X * 1.5}] || X <- lists:seq(1, 3000)]), Term2 end) end},
     {file_io, fun() -> F = file_name(), rep(20, fun() -> ok = file:write_file(F, Text), {ok,
          _} = file:read_file(F) end) end},
     {file_lines, fun() -> F = file_name(), ok = file:write_file(F, Text), {ok, D} = file:open(F, [read,
          binary, raw, read_ahead]), rl(D), file:close(D) end},
     {file_lines_io, fun() -> F = file_name(), ok = file:write_file(F, Text), {ok, D} = file:open(F,
          [read]), rl2(D), file:close(D) end}
    ].
walk(_, '$end_of_table') -> ok;
walk(T, K) -> walk(T, ets:next(T, K)).
sink(0) -> ok;
sink(N) -> receive _ -> sink(N-1) end.
fact(0, A) -> A;
fact(N, A) -> fact(N-1, N*A).
it(none) -> ok;
it({_, _, I}) -> it(maps:next(I)).
drain({empty, _}) -> ok;
drain({{value, _}, Q}) -> drain(queue:out(Q)).
words(<<C, R/binary>>, N) when C >= $a, C =< $z -> words(R, N + 1);
words(<<_, R/binary>>, N) -> words(R, N);
words(<<>>, N) -> N.
thrower(I) -> throw({x, I}).
comp(N) ->
    Src = [io_lib:format("f~p(X, Y) -> case X of {a, B} when B > ~p -> [B | Y]; "
                         "[H|T] -> {H, f~p(T, Y)}; "
                         "_ -> try g(X) catch _:E -> {E, Y} end end.~n", [I, I, I])
           || I <- lists:seq(1, N)],
    S = lists:flatten(["-module(zz).\n-compile(export_all).\ng(X) -> X + 1.\n", Src]),
    {ok, Ts, _} = erl_scan:string(S),
    Forms = forms(Ts, [], []),
    {ok, zz, _} = compile:forms(Forms, [nowarn_export_all]).
forms([], _, A) -> lists:reverse(A);
forms([{dot, _} = D | T], C, A) -> {ok, F} = erl_parse:parse_form(lists:reverse([D | C])), forms(T, [],
     [F | A]);
forms([X | T], C, A) -> forms(T, [X | C], A).
enc(L) when is_list(L), L =/= [], is_tuple(hd(L)) -> [${, [[enc(K), $:, enc(V), $,] || {K, V} <- L], $}];
enc(L) when is_list(L) -> [$[, [[enc(X), $,] || X <- L], $]];
enc(B) when is_binary(B) -> [$", esc(B, <<>>), $"];
enc(I) when is_integer(I) -> integer_to_binary(I);
enc(F) when is_float(F) -> float_to_binary(F, [{decimals, 3}]).
esc(<<$", R/binary>>, A) -> esc(R, <<A/binary, $\\, $">>);
esc(<<C/utf8, R/binary>>, A) -> esc(R, <<A/binary, C/utf8>>);
esc(<<>>, A) -> A.
rl(D) -> case file:read_line(D) of {ok, _} -> rl(D); eof -> ok end.
rl2(D) -> case io:get_line(D, "") of eof -> ok; _ -> rl2(D) end.
