%% ets:select_replace/2 takes bodies that make the key again part by part. What goes on with a walk holds on to
%% the table, not to its name.
-module(ets_replace_keys).
-export([start/0]).

start() ->
    [replace(Key, Made) || {Key, Made} <- pairs()],
    [replace(Key, Made, ordered_set) || {Key, Made} <- pairs()],
    Deep = lists:foldl(fun(_, {K, M}) -> {{K}, {{M}}} end, {'$1', '$1'}, lists:seq(1, 1000)),
    replace_quietly(Deep),
    named().

pairs() ->
    [{{'$1', '$2'}, {{'$1', '$2'}}}, {{'$1', '$2'}, {{'$2', '$1'}}}, {{'$1', '$2'}, {{'$1', '$2', '$3'}}},
     {{1, '$2'}, {{1, '$2'}}}, {{1, '$2'}, {{{const, 1}, '$2'}}}, {{1, '$2'}, {{1.0, '$2'}}}, {{1, 2}, {{1, 2}}},
     {{1, 2}, {const, {1, 2}}}, {{1, 2}, {1, 2}}, {{'$1', '_'}, {{'$1', '_'}}}, {{{'$1'}, '$2'}, {{{{'$1'}}, '$2'}}},
     {['$1' | '$2'], ['$1' | '$2']}, {['$1', '$2'], ['$1', '$2']}, {['$1', '$2'], ['$2', '$1']}, {"ab", "ab"},
     {['$1' | '$2'], [{'+', '$1', 0} | '$2']}, {#{a => '$1'}, #{a => '$1'}}, {<<"x">>, <<"x">>}, {1.5, 1.5},
     {1 bsl 70, 1 bsl 70}, {'_', '_'}, {'$_', '$_'}, {'$$', '$$'}, {a, a}, {a, b}, {'$1', '$1'}, {'$1', '$2'}, {[], []},
     {{}, {{}}}, {'$1', {element, 1, '$_'}}, {{'$1', 2}, {{'$1', {const, 2}}}}].

replace(Key, Made) -> replace(Key, Made, set).

replace(Key, Made, Type) ->
    T = ets:new(t, [Type]),
    ets:insert(T, [{{1, 2}, a}, {{3, 4}, b}, {{{1}, 2}, c}, {[1, 2], d}, {"ab", e}, {[1 | 2], f}, {#{a => 1}, g},
                   {<<"x">>, h}, {1.5, i}, {1 bsl 70, j}, {a, k}, {[], l}, {{}, m}, {'$_', n}]),
    Result = try ets:select_replace(T, [{{Key, '$9'}, [], [{{Made, {{'$9'}}}}]}]) catch error:E -> E end,
    io:format("~p ~0p ~0p: ~p ~0p~n", [Type, Key, Made, Result, lists:sort([V || {_, {V}} <- ets:tab2list(T)])]),
    ets:delete(T).

replace_quietly({Key, Made}) ->
    T = ets:new(t, []),
    Value = lists:foldl(fun(_, V) -> {V} end, x, lists:seq(1, 1000)),
    ets:insert(T, {Value, 1}),
    io:format("deep: ~p ~p~n", [ets:select_replace(T, [{{Key, '_'}, [], [{{Made, 2}}]}]), ets:lookup_element(T, Value, 2)]).

named() ->
    [begin
         ets:new(name, [named_table, Type]),
         ets:insert(name, [{N, N} || N <- lists:seq(1, 10)]),
         {First, Rest} = start_walk(F, name, 3),
         ets:rename(name, other),
         Renamed = go_on(F, Rest),
         ets:new(name, [named_table, Type]),
         Other = go_on(F, Rest),
         ets:delete(other),
         io:format("~p ~p: ~p ~p ~p ~p~n", [Type, F, length(First), Renamed, Other, go_on(F, Rest)]),
         ets:delete(name)
     end || Type <- [set, ordered_set, bag], F <- [select, match, match_object]],
    ok.

go_on(F, Continuation) ->
    try ets:F(Continuation) of
        {List, _} -> length(List);
        Other -> Other
    catch error:E -> E
    end.

start_walk(select, T, N) -> ets:select(T, [{'$1', [], ['$1']}], N);
start_walk(F, T, N) -> ets:F(T, '$1', N).
