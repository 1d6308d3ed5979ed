%% A long random sequence of map operations beside an ordered list of pairs.
-module(map_random).
-export([main/1]).

main(_) ->
    [io:format("~p~n", [run(Range, 1500, Seed)])
     || {Range, Seed} <- [{20, 1}, {40, 2}, {200, 3}, {5000, 4}]].

run(Range, N, Seed) -> run(N, Range, Seed, #{}, [], 0).

run(0, _, _, M, Model, H) -> true = lists:sort(maps:to_list(M)) =:= Model, {map_size(M), H};
run(N, Range, S, M, Model, H) ->
    S1 = (S * 6364136223846793005 + 1442695040888963407) band 16#7FFFFFFFFFFFFFFF,
    K = key((S1 bsr 20) rem Range), V = (S1 bsr 7) rem 1000,
    true = maps:find(K, M) =:= case lists:keyfind(K, 1, Model) of {_, X} -> {ok, X};
                                   false -> error end,
    {M1, Model1} = case (S1 bsr 50) rem 8 of
        0 -> {maps:remove(K, M), lists:keydelete(K, 1, Model)};
        1 -> case M of #{K := _} -> {M#{K := V}, store(K, V, Model)}; _ -> {M, Model} end;
        2 -> case maps:take(K, M) of {_, Rest} -> {Rest, lists:keydelete(K, 1, Model)};
                 error -> {M, Model} end;
        3 -> {maps:merge(M, #{K => V, {other, K} => V}), store({other, K}, V, store(K, V, Model))};
        4 when N rem 50 =:= 0 -> {maps:filter(fun(_, W) -> W rem 3 =/= 0 end, M),
                                  [P || {_, W} = P <- Model, W rem 3 =/= 0]};
        5 when N rem 50 =:= 0 ->
            {maps:map(fun(_, W) -> W + 1 end, M), [{Q, W + 1} || {Q, W} <- Model]};
        _ -> {M#{K => V}, store(K, V, Model)}
    end,
    true = map_size(M1) =:= length(Model1),
    case N rem 200 of
        0 -> true = lists:sort(maps:to_list(M1)) =:= Model1, true = maps:from_list(Model1) =:= M1,
            true = erlang:phash2(maps:from_list(Model1)) =:= erlang:phash2(M1);
        _ -> ok
    end,
    run(N - 1, Range, S1, M1, Model1, erlang:phash2({H, K, map_size(M1)})).

store(K, V, Model) -> lists:sort([{K, V} | lists:keydelete(K, 1, Model)]).

key(N) when N rem 4 =:= 0 -> N;
key(N) when N rem 4 =:= 1 -> {k, N};
key(N) when N rem 4 =:= 2 -> [N, $a];
key(N) -> <<N:32>>.
