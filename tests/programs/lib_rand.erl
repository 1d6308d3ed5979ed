%% rand with fixed seeds: every algorithm, ranges, floats, normal, bytes, jumps, exported state.
-module(lib_rand).
-export([main/1]).

main(_) ->
    [begin
         S0 = rand:seed_s(Alg, {1, 2, 3}),
         {Us, S1} = times(8, fun rand:uniform_s/1, S0),
         {Is, S2} = times(8, fun(S) -> rand:uniform_s(1000, S) end, S1),
         {Bs, S3} = times(4, fun(S) -> rand:uniform_s(1 bsl 70, S) end, S2),
         {Rs, S4} = times(4, fun rand:uniform_real_s/1, S3),
         {Ns, S5} = times(6, fun rand:normal_s/1, S4),
         {By, S6} = rand:bytes_s(13, S5),
         io:format("~p~n ~w~n ~w~n ~w~n ~w~n ~w~n ~w~n", [Alg, Us, Is, Bs, Rs, Ns, By]),
         J = try rand:jump(S6) catch error:R -> R end,
         case J of
             not_implemented -> io:format("no jump~n");
             _ -> {V, _} = rand:uniform_s(1 bsl 50, J), io:format("jumped ~p~n", [V])
         end
     end || Alg <- [exsss, exro928ss, exrop, exs1024s, exsp, exs64, exsplus, exs1024, dummy]],
    rand:seed(exsss, 42),
    io:format("~w~n", [[rand:uniform(6) || _ <- lists:seq(1, 20)]]),
    E = rand:export_seed(),
    X = [rand:uniform() || _ <- [1, 2, 3]],
    rand:seed(E),
    io:format("~p ~w~n", [X =:= [rand:uniform() || _ <- [1, 2, 3]], X]),
    rand:seed(exsss, {5, 6, 7}),
    io:format("~w~n", [shuffle(lists:seq(1, 20))]),
    io:format("~.6f ~.6f~n", [rand:normal(), rand:normal(10, 4)]),
    io:format("~w~n", [[try rand:uniform(N) catch C:Er -> {C, Er} end || N <- [0, -1, a, 1]]]),
    Counts = lists:foldl(fun(_, M) -> maps:update_with(rand:uniform(5), fun(C) -> C + 1 end, 1,
                                                       M) end, #{}, lists:seq(1, 10000)),
    io:format("~p~n", [Counts]),
    {MW, _} = lists:foldl(fun(_, {Acc, T}) -> T1 = rand:mwc59(T),
                              {[rand:mwc59_value32(T1) | Acc], T1} end, {[], rand:mwc59_seed(1)},
                          [1, 2, 3]),
    io:format("~w~n", [MW]),
    random:seed(1, 2, 3),
    io:format("~w~n", [[random:uniform(100) || _ <- lists:seq(1, 10)]]).

times(N, F, S) -> lists:mapfoldl(fun(_, St) -> F(St) end, S, lists:seq(1, N)).
shuffle(L) -> [X || {_, X} <- lists:sort([{rand:uniform(), X} || X <- L])].
