%% ets:match, select, match_delete and friends with match specifications.
-module(ets_select).
-export([main/1]).

main(_) ->
    T = ets:new(t, [ordered_set]),
    ets:insert(T, [{I, I rem 5, {name, integer_to_list(I)}} || I <- lists:seq(1, 50)]),
    io:format("~p~n", [ets:match(T, {'$1', 3, '_'})]),
    io:format("~p~n", [ets:match_object(T, {'_', 0, {name, '$1'}})]),
    io:format("~p~n",
              [ets:select(T, [{{'$1', '$2', '_'}, [{'>', '$1', 40}, {'=/=', '$2', 1}],
                               [{{'$2', '$1'}}]}])]),
    io:format("~p~n",
              [ets:select(T,
                          [{{'$1', '_', '_'},
                            [{'orelse', {'<', '$1', 3}, {'==', {'rem', '$1', 25}, 0}}], ['$_']}])]),
    io:format("~p~n", [ets:select_count(T, [{{'$1', '$2', '_'}, [{'==', '$2', 2}], [true]}])]),
    io:format("~p~n", [[ets:match(T, {V, 3, '$1'}) || V <- ['$01', '$00', '$', '$1a', '$a', '$123456789', '$2147483648']]]),
    {First, C} = ets:select(T, [{{'$1', '_', '_'}, [], ['$1']}], 7),
    {Second, _} = ets:select(C),
    io:format("~p ~p~n", [First, Second]),
    io:format("~p~n", [ets:select_delete(T, [{{'$1', '_', '_'}, [{'<', '$1', 45}], [true]}])]),
    io:format("~p~n", [ets:tab2list(T)]),
    io:format("~p~n", [ets:match_delete(T, {'_', 0, '_'})]),
    io:format("~p~n", [ets:info(T, size)]),
    io:format("~p~n", [ets:select_reverse(T, [{{'$1', '_', '_'}, [], ['$1']}])]),
    io:format("~p~n",
              [ets:select_replace(T, [{{'$1', '$2', '$3'}, [], [{{'$1', {const, new}, '$3'}}]}])]),
    io:format("~p~n", [ets:tab2list(T)]).
