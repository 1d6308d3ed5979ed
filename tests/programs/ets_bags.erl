%% bag and duplicate_bag: order within a key, duplicates, deletions, chunks of one key.
-module(ets_bags).
-export([main/1]).

main(_) ->
    [table(Type) || Type <- [bag, duplicate_bag, set, ordered_set]],
    errors().

table(Type) ->
    T = ets:new(t, [Type]),
    io:format("~p~n", [Type]),
    [ets:insert(T, {k, V}) || V <- [3, 1, 2, 1, 1.0, 3, x]],
    ets:insert(T, [{l, 1}, {l, 2}, {l, 1}, {l, 3, extra}]),
    io:format("~p ~p~n", [ets:lookup(T, k), ets:lookup(T, l)]),
    io:format("~p ~p~n", [ets:info(T, size), ets:member(T, k)]),
    io:format("~p~n", [catch_(fun() -> ets:lookup_element(T, k, 2) end)]),
    io:format("~p~n", [catch_(fun() -> ets:lookup_element(T, l, 3) end)]),
    io:format("~p~n", [ets:match(T, {k, '$1'})]),
    io:format("~p~n", [ets:match(T, {k, 1})]),
    ets:delete_object(T, {k, 1}),
    io:format("~p~n", [ets:lookup(T, k)]),
    ets:insert(T, {k, 1}),
    io:format("~p~n", [ets:lookup(T, k)]),
    io:format("~p ~p~n", [ets:insert_new(T, {k, z}), ets:insert_new(T, [{m, 1}, {k, 1}])]),
    io:format("~p ~p~n", [ets:insert_new(T, [{m, 1}, {m, 2}, {m, 1}]), ets:lookup(T, m)]),
    io:format("~p ~p~n", [ets:take(T, m), ets:take(T, m)]),
    io:format("~p~n", [ets:select_count(T, [{{k, '$1'}, [{is_integer, '$1'}], [true]}])]),
    io:format("~p~n", [ets:select_delete(T, [{{k, '$1'}, [{is_integer, '$1'}], [true]}])]),
    io:format("~p~n", [ets:lookup(T, k)]),
    ets:delete(T, k),
    io:format("~p ~p~n", [ets:lookup(T, k), ets:info(T, size)]),
    ets:delete_all_objects(T),
    ets:insert(T, [{c, I} || I <- lists:seq(1, 23)]),
    %% Which objects of a key come in which chunk is not said anywhere.
    [begin
         Chunks = all(ets:select(T, [{{c, '$1'}, [], ['$1']}], N)),
         io:format("~p ~p~n", [[length(L) || L <- Chunks], lists:sort(lists:append(Chunks))])
     end || N <- [1, 5, 23, 50]],
    io:format("~p~n", [lists:sort(lists:append(all(ets:select(T, [{{'_', '$1'}, [], ['$1']}],
            4))))]),
    K = [{I rem 100, I} || I <- lists:seq(1, 3000)],
    ets:insert(T, K),
    io:format("~p~n", [erlang:phash2(lists:sort(ets:tab2list(T)))]),
    io:format("~p~n", [ets:lookup(T, 7)]),
    io:format("~p~n", [ets:foldl(fun(O, A) -> element(2, O) + A end, 0, T)]),
    io:format("~p~n", [length(keys(T, ets:first(T)))]),
    [ets:delete(T, I) || I <- lists:seq(0, 98)],
    io:format("~p~n", [length(ets:tab2list(T))]),
    ets:delete(T).

keys(_, '$end_of_table') -> [];
keys(T, K) -> [K | keys(T, ets:next(T, K))].

all('$end_of_table') -> [];
all({L, C}) -> [L | all(ets:select(C))].

errors() ->
    B = ets:new(b, [bag]),
    D = ets:new(d, [duplicate_bag]),
    ets:insert(D, [{a, 1}, {a, 1}]),
    io:format("~p~n", [[catch_(F) || F <- [fun() -> ets:update_counter(B, a, 1) end,
                                            fun() -> ets:update_element(B, a, {2, 1}) end,
                                            fun() -> ets:select_replace(B, [{{'$1', '_'}, [],
                                                    ['$_']}]) end,
                                            fun() -> ets:next(B, nokey) end,
                                            fun() -> ets:lookup_element(B, nokey, 1) end,
                                            fun() -> ets:select_replace(D, [{{'$1', '$2'}, [],
                                                                             [{{'$1', {'+', '$2',
            1}}}]}]) end]]]),
    io:format("~p~n", [ets:tab2list(D)]).

catch_(F) ->
    try F()
    catch C:R:S -> {M, N, _, Info} = hd(S), {C, R, M, N, Info}
    end.
