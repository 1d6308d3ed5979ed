%% ordered_set: term order of keys, ranges by partly bound keys, chunks in both directions.
-module(ets_ordered).
-export([main/1, id/1]).

main(_) ->
    T = ets:new(t, [ordered_set]),
    Keys = [5, 5.0, 1.5, -3, 1 bsl 70, a, b, "list", [], [1], [1, 2], {}, {1}, {1, 2}, {0, 0, 0},
            <<>>,
            <<"bin">>, <<1:3>>, #{}, #{a => 1}, {k, 1, x}, {k, 1, y}, {k, 2, x}, {k, 2}, {l, 0, 0},
            1.0e300, -0.0, 0, {k, 1.0, z}, {k, {d, 1}, 1}, {k, {d, 2}, 1}, {k, {d, 2}, 2}],
    [ets:insert(T, {K, N}) || {K, N} <- lists:zip(Keys, lists:seq(1, length(Keys)))],
    io:format("~p~n", [ets:tab2list(T)]),
    io:format("~p~n", [forward(T, ets:first(T)) =:= lists:reverse(backward(T, ets:last(T)))]),
    io:format("~p~n", [[{K, ets:next(T, K), ets:prev(T, K)} || K <- [4, 5, zz, {k, 1}, <<>>,
            [0]]]]),
    io:format("~p~n", [[ets:lookup(T, K) || K <- [5, 5.0, 0, -0.0, 0.0, #{a => 1}, #{a => 1.0},
            nokey]]]),
    io:format("~p~n", [[ets:slot(T, I) || I <- lists:seq(0, ets:info(T, size))]]),
    Patterns = [{k, 1, '_'}, {k, '$1', x}, {k, '_', '_'}, {k, {d, '$1'}, '$2'}, {'_', '_'},
            [1 | '_'],
                {k, 1, x}, 5, 5.0, '$1', '_', #{}, #{a => '_'}, {l, 0, 0}, {m, '_', '_'}, [], {},
                        {'$1', '$1'}],
    [io:format("~p: ~p ~p ~p~n",
               [P, ets:match_object(T, {P, '_'}), ets:select_reverse(T, [{{P, '$9'}, [], ['$9']}]),
                ets:select_count(T, [{{P, '_'}, [], [true]}])])
     || P <- Patterns],
    io:format("~p~n", [ets:select(T, [{{{k, 2, '_'}, '$1'}, [], ['$1']}, {{{k, 1, '$2'}, '$1'}, [],
            [{{'$2', '$1'}}]}])]),
    io:format("~p~n", [ets:select(T, [{{a, '$1'}, [], ['$1']}, {{5, '$1'}, [], ['$1']}, {{nokey,
            '$1'}, [], ['$1']}])]),
    chunks(),
    delete(T).

forward(_, '$end_of_table') -> [];
forward(T, K) -> [K | forward(T, ets:next(T, K))].

backward(_, '$end_of_table') -> [];
backward(T, K) -> [K | backward(T, ets:prev(T, K))].

chunks() ->
    T = ets:new(chunks, [ordered_set, {keypos, 2}]),
    ets:insert(T, [{I rem 3, I} || I <- lists:seq(1, 20)]),
    [io:format("~p ~p ~p~n",
               [N, all(ets:select(T, [{{'$1', '$2'}, [{'<', '$1', 2}], [{{'$1', '$2'}}]}], N),
                       fun ets:select/1),
                all(ets:select_reverse(T, [{{'$1', '$2'}, [{'>', '$2', 5}], ['$2']}], N),
                        fun ets:select_reverse/1)])
     || N <- [1, 2, 3, 7, 14, 20, 100]],
    io:format("~p~n", [all(ets:match(T, {'$1', '$2'}, 6), fun ets:match/1)]),
    io:format("~p~n", [all(ets:match_object(T, {'_', '_'}, 9), fun ets:match_object/1)]),
    %% The table changes between chunks: keys that are gone are no obstacle.
    {First, C} = ets:select(T, [{{'_', '$1'}, [], ['$1']}], 5),
    [ets:delete(T, K) || K <- [5, 6, 7, 8]],
    ets:insert(T, [{new, 4.5}, {new, 7.5}]),
    {Second, _} = ets:select(C),
    io:format("~p ~p~n", [First, Second]).

all('$end_of_table', _) -> [];
all({L, C}, F) -> [L | all(F(C), F)].

delete(T) ->
    io:format("~p~n", [ets:select_delete(T, [{{{k, '_', '_'}, '_'}, [], [true]}])]),
    io:format("~p~n", [ets:select_delete(T, [{{'$1', '_'}, [{is_number, '$1'}, {'>', '$1', 1}],
            [true]}])]),
    io:format("~p~n", [ets:tab2list(T)]),
    %% Random inserts and deletions beside a model.
    R = ets:new(r, [ordered_set]),
    rand:seed(exsss, {1, 2, 3}),
    Model = lists:foldl(fun(_, M) ->
                                K = rand:uniform(300),
                                case rand:uniform(3) of
                                    1 -> ets:delete(R, K), lists:keydelete(K, 1, M);
                                    _ -> ets:insert(R, {K, K * 2}), lists:keystore(K, 1, M, {K,
                                            K * 2})
                                end
                        end, [], lists:seq(1, 5000)),
    io:format("~p~n", [ets:tab2list(R) =:= lists:sort(Model)]),
    io:format("~p~n", [[hd(ets:slot(R, I)) || I <- lists:seq(0, ets:info(R,
            size) - 1)] =:= lists:sort(Model)]).

id(X) -> X.
