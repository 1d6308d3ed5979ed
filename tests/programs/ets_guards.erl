%% Match specifications: every guard function in guards and bodies, forms,
%% errors as match_spec_test says.
-module(ets_guards).
-export([main/1]).

main(_) ->
    T = ets:new(t, [ordered_set]),
    Values = [0, 1, -7, 2.5, -3.5, 1 bsl 65, a, true, false, [], [1, 2, 3], [1 | 2], "str", {},
            {a}, {rec, 1}, {rec, 1, 2},
              <<>>, <<"bytes">>, <<1:3>>, #{}, #{a => 1}, #{a => #{b => 2}}, fun lists:map/2],
    ets:insert(T, lists:zip(lists:seq(1, length(Values)), Values)),
    One = [abs, 'bnot', '+', '-', 'not', bit_size, byte_size, float, hd, is_atom, is_binary,
            is_float, is_function,
           is_integer, is_list, is_map, is_number, is_pid, is_port, is_reference, is_tuple, length,
                   map_size, node, round,
           size, tl, trunc, 'and', 'or', 'andalso', 'orelse', const],
    [io:format("~p ~p~n~p~n", [F, ets:select(T, [{{'$1', '$2'}, [{F, '$2'}], ['$1']}]),
                               ets:select(T, [{{'$1', '$2'}, [], [{F, '$2'}]}])]) || F <- One],
    Two = ['+', '-', '*', '/', 'div', 'rem', 'band', 'bor', 'bxor', 'bsl', 'bsr', '==', '/=',
            '=:=', '=/=', '<', '>', '=<',
           '>=', 'and', 'or', 'xor', 'andalso', 'orelse', element, is_map_key, map_get,
                   binary_part],
    Others = [2, 0.0, true, false, a, {{0, 1}}],
    [io:format("~p ~p~n~p~n", [F, X, ets:select(T, [{{'$1', '$2'}, [{'=/=', {F, '$2', X}, false}],
                                                     [{{'$1', {F, '$2', X}}}]},
                                                    {{'$1', '$2'}, [], [{{'$1', {F, X, '$2'}}}]}])])
     || F <- Two, X <- Others, F =/= 'bsl' orelse X =:= 2],
    io:format("~p~n", [ets:select(T, [{{'_', '$1'}, [{is_record, '$1', rec, N}],
            ['$_']} || N <- [2, 3]])]),
    io:format("~p~n", [ets:select(T, [{{'_', '$1'}, [{is_binary, '$1'}, {'>', {size, '$1'}, 2}],
            [{binary_part, '$1', 1, 2}]}])]),
    io:format("~p~n", [ets:select(T, [{{'$1', '_'}, [{'=:=', {node}, node()}, {'=:=', {self},
            self()}, {'<', '$1', 3}], ['$1']}])]),
    forms(T), patterns(), specs().

forms(T) ->
    Show = fun(Guards, Body) ->
                   io:format("~p ~p~n~p~n", [Guards, Body, catch_(fun() -> ets:select(T, [{{'$1',
                           '$2'}, Guards, Body}]) end)])
           end,
    [Show([{'<', '$1', 4}], [B])
     || B <- ['$_', '$$', '$1', [], [a, '$1' | '$2'], {{}}, {{'$1', {{'$2'}}}}, {const, {'$1', x}},
             #{}, #{'$1' => ['$2'], k => '$$'},
              "text", <<1, 2>>, 1.5, 1 bsl 70, '_', '$', '$x', [[['$1']]], {hd, []}, {{{hd, []},
                      {tl, [1]}}}, {'$1'}, {}, {a, b},
              {const}, {const, a, b}, {foo}, {{a}, b}, {'and'}, {'orelse'}, '$7', #{{'$1'} => 1},
                      #{{{'$1'}} => 1},
              {'andalso', true, {'<', '$1', 2}, {hd, x}}, {'orelse', false, {'<', '$1', 2}, {hd,
                      x}}, {'andalso', a, b},
              {'orelse', {hd, 1}, true}, {'and', true, false, a}, {'or', true, true, false}, {'or',
                      true}, {'and', a, true}]],
    [Show(G, ['$1'])
     || G <- [[], [true], [false], [a], [1], [true, true], [true, false], ['$2'], [{'andalso',
             '$2', true}],
              [{'orelse', {'==', '$1', 1}, '$2'}], [{'not', {'not', '$2'}}], [{'or', {'<', '$1',
                      2}, {'>', '$1', 22}}],
              [{'and', {hd, '$2'}, true}], [{'orelse', {'<', '$1', 3}, {'==', {hd, '$2'}, 1}}],
              [{'andalso', {is_list, '$2'}, {'/=', '$2', []}, {'==', {hd, '$2'}, 1}}], [{'==',
                      '$_', {{1, 0}}}],
              [{'==', '$$', [2, 1]}], [{'==', '$2', {const, {rec, 1}}}], [{'==', '$2', {{rec,
                      1}}}], [{'==', '$2', #{a => 1}}],
              x, [a | b], [{hd}], [{hd, 1, 2}], '$1', [{message, true}], [{return_trace}]]].

patterns() ->
    T = ets:new(p, [bag]),
    ets:insert(T, [{1, 1}, {1, 2.0}, {[a, b], [b, a]}, {{x, {y, z}}, {x, {y, z}}}, {#{a => 1,
            b => 2}, #{a => 1}}, {k, #{a => [1, 2]}},
                   {k, lists:seq(1, 50)}, {k, <<"x">>}, {k, 1 bsl 66}, {k}, {k, 2, 3}, {"$1",
                           '$1'}, {big, maps:from_list([{I, I} || I <- lists:seq(1, 40)])}]),
    [io:format("~p: ~p~n", [P, catch_(fun() -> lists:sort([small(O) || O <- ets:match_object(T,
            P)]) end)])
     || P <- ['_', '$1', {}, {'_'}, {'$1', '$1'}, {'$1', '$2'}, {['$1', '$2'], ['$2', '$1']},
             {['$1' | '$2'], '_'}, {{x, '$1'}, {x, '$1'}},
              {{'$1', {'$2', z}}, {'$1', {y, '$3'}}}, {#{}, '_'}, {#{a => '$1'}, #{a => '$1'}},
                      {#{a => 2}, '_'}, {'_', #{a => ['$1' | '_']}},
              {#{'$1' => 1}, '_'}, {k, lists:seq(1, 49) ++ '$1'}, {k, lists:seq(1, 50)}, {k,
                      <<"x">>}, {k, 1 bsl 66}, {k, '_', '_'},
              {"$1", '$1'}, {big, #{7 => '$1', 9 => 9}}, {'$1', #{7 => 8}}, foo, [], {1, 1}, {1,
                      1.0}, {1.0, '_'}]],
    io:format("~p~n", [lists:sort(ets:match(T, {'$2', ['$1' | '_']}))]),
    io:format("~p~n", [lists:sort(ets:match(T, {'$10', ['$9' | '_']}))]),
    io:format("~p~n", [lists:sort(ets:match(T, {'_', #{a => '$3', b => '$0'}}))]).

%% The order of a map with more than 32 keys is nobody's promise.
small({big, _}) -> big;
small(O) -> O.

specs() ->
    [io:format("~p~n~p~n", [S, catch_(fun() -> erlang:match_spec_test({1, [2]}, S, table) end)])
     || S <- [foo, [foo], [{'_', []}], [{'_', foo, ['$_']}], [{'_', [], foo}], [{'_', [], []}],
             [{'_', [], ['$1']}],
              [{'_', ['$1', '$2'], ['$3']}], [{'_', [{message, true}], ['$_']}], [{'_', [{hd}],
                      ['$_']}], [{'_', [{self}], ['$_']}],
              [{#{'$1' => 1}, [], ['$_']}], [{'_', [{{a}, b}], ['$_']}], [{'_', [], ['$_' | a]}],
                      [{'_', [a | b], ['$_']}],
              [{'_', [], ['$_']} | b], [{foo, [], ['$_']}], [{'_', [{'not'}], ['$_']}], [{'_',
                      [{'_'}], ['$_']}],
              [{'_', [{const, 1, 2}], ['$_']}], [{'_', [{const}], ['$_']}], [{'_', [{'and'}],
                      ['$_']}],
              [{{'$1', '$2'}, [{'>', '$1', 0}], [{hd, '$2'}]}], [{{2, '_'}, [], [no]}, {{'$1',
                      '_'}, [], [{{'$1'}}]}],
              [{{'$1', ['$1']}, [], [no]}, {{'_', ['_']}, [], ['$$', yes]}]]],
    MS = ets:match_spec_compile([{{'$1', '$2'}, [{is_integer, '$2'}], [{{'$2', '$1'}}]}, {[], [],
            [empty]}]),
    io:format("~p ~p ~p~n", [ets:is_compiled_ms(MS), ets:is_compiled_ms(make_ref()),
            ets:is_compiled_ms(a)]),
    io:format("~p~n", [ets:match_spec_run([{a, 1}, b, {c, d}, [], {e, 2}], MS)]),
    io:format("~p~n", [length(ets:match_spec_run([{I, I} || I <- lists:seq(1, 20000)], MS))]),
    io:format("~p~n", [[catch_(F) || F <- [fun() -> ets:match_spec_run([{a, 1} | b], MS) end,
            fun() -> ets:match_spec_run([], foo) end,
                                           fun() -> ets:match_spec_compile([{'_', []}]) end,
            fun() -> ets:match_spec_compile([]) =/= x end]]]).

catch_(F) ->
    try F()
    catch C:R:S -> {M, N, _, Info} = hd(S), {C, R, M, N, Info}
    end.
