%% Maps that grow and shrink over 32 keys, key by key, against a model kept as a sorted list.
-module(map_boundary).
-export([main/1]).

main(_) ->
    Keys = lists:seq(1, 70),
    {Up, Model} = lists:foldl(fun grow/2, {#{}, []}, Keys),
    io:format("~p~n", [map_size(Up)]),
    {Down, []} = lists:foldl(fun shrink/2, {Up, Model}, [K * 37 rem 71 || K <- Keys]),
    io:format("~p ~p~n", [Down, Down =:= #{}]),
    [io:format("~p ~p~n", [N, erlang:phash2(maps:from_list([{I, I} || I <- lists:seq(1, N)]))])
     || N <- lists:seq(28, 40)],
    %% the same contents reached by different ways are the same map
    [begin
         A = maps:from_list([{k(I), I} || I <- lists:seq(1, N)]),
         B = lists:foldl(fun(I, M) -> M#{k(I) => I} end, #{}, lists:reverse(lists:seq(1, N))),
         C = lists:foldl(fun(I, M) -> maps:remove(k(I), M) end,
                         maps:from_list([{k(I), I} || I <- lists:seq(1, N + 20)]),
                         lists:seq(N + 1, N + 20)),
         D = maps:merge(maps:from_list([{k(I), x} || I <- lists:seq(1, N div 2)]), A),
         true = A =:= B, true = B =:= C, true = C =:= D, true = A == D,
         true = erlang:phash2(A) =:= erlang:phash2(C),
         [N] = lists:usort([map_size(M) || M <- [A, B, C, D]])
     end || N <- [0, 1, 31, 32, 33, 34, 64, 100]],
    %% literal maps at the boundary
    L32 = literal(32), L33 = L32#{extra => 1},
    io:format("~p ~p~n", [map_size(L32), map_size(L33)]),
    io:format("~p~n", [maps:remove(extra, L33) =:= L32]),
    io:format("~p~n", [lists:sort(maps:to_list(L33#{1 := changed, 40 => forty}))]),
    io:format("~p~n", [lists:sort(maps:keys(maps:with([1, 2, extra, nokey], L33)))]),
    io:format("~p~n", [maps:without(lists:seq(3, 40), L33)]),
    io:format("~p~n",
              [[element(1, R) || K <- [1, 33, extra],
                R <- [try {L33#{K := 2}} catch error:E -> {E} end], is_tuple(element(1, R))]]).

k(I) when I rem 3 =:= 0 -> I;
k(I) when I rem 3 =:= 1 -> {key, I};
k(I) -> integer_to_binary(I).

literal(32) -> #{1 => a, 2 => b, 3 => c, 4 => d, 5 => e, 6 => f, 7 => g, 8 => h, 9 => i, 10 => j,
                 11 => k, 12 => l, 13 => m,
                 14 => n, 15 => o, 16 => p, 17 => q, 18 => r, 19 => s, 20 => t, 21 => u, 22 => v,
                 23 => w, 24 => x, 25 => y,
                 26 => z, 27 => aa, 28 => bb, 29 => cc, 30 => dd, 31 => ee, 32 => ff}.

grow(K, {M, Model}) ->
    M1 = M#{K => -K}, Model1 = orddict:store(K, -K, Model),
    check(M1, Model1), {M1, Model1}.

shrink(K, {M, Model}) ->
    {V, M1} = maps:take(K, M), V = -K,
    Model1 = orddict:erase(K, Model),
    check(M1, Model1), {M1, Model1}.

check(M, Model) ->
    true = map_size(M) =:= length(Model),
    Model = lists:sort(maps:to_list(M)),
    [V = maps:get(K, M) || {K, V} <- Model],
    [error = maps:find(K, M) || K <- [0, 71, 1.0, a]],
    Model = lists:sort(maps:fold(fun(K, V, A) -> [{K, V} | A] end, [], M)).
