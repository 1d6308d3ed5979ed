%% A little library of futures, parallel maps with failures and timeouts, and map-reduce.
-module(proc_futures).
-export([main/1]).

main(_) ->
    F = async(fun() -> lists:sum(lists:seq(1, 100)) end),
    io:format("~p~n", [await(F)]),
    io:format("~p~n", [[result(async(G)) || G <- [fun() -> ok end, fun() -> error(bad) end,
                                                  fun() -> exit(gone) end, fun() -> throw(ball) end,
                                                  fun() -> exit(self(), kill),
                                                      receive after infinity -> ok end end]]]),
    io:format("~p~n",
              [try await(async(fun() -> receive after infinity -> ok end end),
                         20) catch exit:timeout -> timed_out end]),
    io:format("~p~n", [pmap(fun(X) -> X * X end, lists:seq(1, 50))]),
    io:format("~p~n", [limited(fun(X) -> receive after X rem 3 -> X end end, lists:seq(1, 60), 7)]),
    io:format("~p~n", [first([fun() -> receive after 5000 -> slow end end, fun() -> quick end])]),
    Docs = [{1, "a rose is a rose"}, {2, "is a rose"}, {3, "violets are not"}],
    io:format("~p~n", [map_reduce(fun({Id, T}) -> [{W, Id} || W <- string:lexemes(T, " ")] end,
                                  fun(_, Ids) -> lists:usort(Ids) end, Docs)]),
    io:format("~p~n",
              [quick_sort([(X * 7919) rem 1009
                           || X <- lists:seq(1, 500)]) =:= lists:sort([(X * 7919) rem 1009
                                   || X <- lists:seq(1, 500)])]),
    io:format("~p~n", [receive M -> {unexpected, M} after 20 -> clean end]).

async(F) -> spawn_monitor(fun() -> exit({result, F()}) end).
await(F) -> await(F, infinity).
await({P, R}, T) ->
    receive {'DOWN', R, process, P, {result, V}} -> V; {'DOWN', R, process, P, Why} -> exit(Why)
    after T -> demonitor(R, [flush]), exit(P, kill), exit(timeout) end.
result(F) -> try {ok, await(F)} catch exit:{{nocatch, X}, _} -> {thrown, X};
                 exit:{E, S} when is_list(S) -> {error, E}; exit:R -> {exit, R} end.
pmap(F, L) -> [await(A) || A <- [async(fun() -> F(X) end) || X <- L]].
limited(F, L, Max) -> limited(F, L, Max, [], #{}).
limited(_, [], _, [], Done) -> [V || {_, V} <- lists:sort(maps:to_list(Done))];
limited(F, [X | T], Max, Running, Done) when length(Running) < Max ->
    {P, R} = async(fun() -> F(X) end), limited(F, T, Max, [{R, P, X} | Running], Done);
limited(F, L, Max, Running, Done) -> receive {'DOWN', R, process, _, {result, V}} ->
                                         {value, {R, _, X}, Rest} = lists:keytake(R, 1, Running),
                                         limited(F, L, Max, Rest, Done#{X => V}) end.
first(Fs) ->
    As = [async(F) || F <- Fs],
    V = receive {'DOWN', _, process, _, {result, X}} -> X end,
    [begin exit(P, kill), demonitor(R, [flush]) end || {P, R} <- As], V.
map_reduce(Map, Reduce, Items) ->
    Groups = lists:foldl(fun({K, V}, M) -> M#{K => [V | maps:get(K, M, [])]} end, #{},
                         lists:append(pmap(Map, Items))),
    lists:sort(pmap(fun({K, Vs}) -> {K, Reduce(K, Vs)} end, maps:to_list(Groups))).
quick_sort([]) -> [];
quick_sort([P | T]) when length(T) > 50 ->
    A = async(fun() -> quick_sort([X || X <- T, X < P]) end), B = quick_sort([X || X <- T, X >= P]),
    await(A) ++ [P | B];
quick_sort([P | T]) -> quick_sort([X || X <- T, X < P]) ++ [P | quick_sort([X || X <- T, X >= P])].
