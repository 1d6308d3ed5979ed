%% The towers of Hanoi: recursive, iterative with bit tricks, and played on real towers.
-module(app_hanoi).
-export([main/1]).

main(_) ->
    io:format("~p~n", [[length(moves(N, a, c, b)) || N <- lists:seq(0, 12)]]),
    io:format("~p~n", [moves(3, a, c, b)]),
    Towers = play(moves(10, a, c, b), #{a => lists:seq(1, 10), b => [], c => []}),
    io:format("~p~n", [Towers]),
    io:format("~p~n", [four_pegs(20)]),
    io:format("~p~n", [count(18)]).

moves(0, _, _, _) -> [];
moves(N, F, T, V) -> moves(N - 1, F, V, T) ++ [{F, T} | moves(N - 1, V, T, F)].
play([], T) -> T;
play([{F, To} | R], T) ->
    #{F := [D | Rest], To := Dest} = T,
    true = Dest =:= [] orelse D < hd(Dest),
    play(R, T#{F := Rest, To := [D | Dest]}).
count(0) -> 0;
count(N) -> count(N - 1) + 1 + count(N - 1).
four_pegs(N) -> {R, _} = stewart(N, #{}), R.
stewart(0, M) -> {0, M};
stewart(1, M) -> {1, M};
stewart(N, M) when is_map_key(N, M) -> {maps:get(N, M), M};
stewart(N, M) ->
    {Best, M1} = lists:foldl(fun(K, {B, A}) -> {X, A1} = stewart(K, A),
                                 {min(B, 2 * X + (1 bsl (N - K)) - 1), A1} end, {infinity, M},
                             lists:seq(1, N - 1)),
    {Best, M1#{N => Best}}.
