%% From OTP 26 on atoms among the keys of a small map have the order in which they were made, the emulator's own before all
%% others; before, that of terms, which we had with every release. Maps compare by the terms either way.
-module(map_atom_keys).
-export([main/1]).

main(_) ->
    Maps = [#{zulu_k1 => 1, alpha_k2 => 2, mike_k3 => 3}, #{normal => a, infinity => b, false => c, true => d, '' => e},
            #{zebra_k4 => 1, error => 2, ant_k5 => 3, 5 => 4, "s" => 5, 2.5 => 6, {t} => 7, undefined => 8},
            maps:from_list([{K, V} || {V, K} <- lists:enumerate(atoms())])],
    [show(M) || M <- Maps],
    %% Made one by one, in another order, merged, and with keys that come and go.
    [M1 | _] = Maps,
    One = maps:put(mike_k3, 3, maps:put(alpha_k2, 2, #{zulu_k1 => 1})),
    Other = maps:put(zulu_k1, 1, maps:put(alpha_k2, 2, #{mike_k3 => 3})),
    io:format("~w ~w ~w~n", [One =:= M1, Other =:= M1, erts_debug:same(One, Other)]),
    show(maps:merge(#{beta_k6 => 1, zulu_k1 => 2}, #{alpha_k2 => 3, yankee_k7 => 4})),
    show(maps:remove(alpha_k2, M1)),
    show(M1#{alpha_k2 := x, mike_k3 := y}),
    show(M1#{kilo_k8 => x, bravo_k9 => y, zulu_k1 => z}),
    show(maps:map(fun(K, V) -> {K, V} end, M1)),
    show(binary_to_term(term_to_binary(M1))),
    show(#{id(whiskey_k10) => 1, id(charlie_k11) => 2}),
    io:format("~p~n", [try M1#{november_k12 := 1, delta_k13 := 2} catch error:E -> E end]),
    #{mike_k3 := A, zulu_k1 := B, alpha_k2 := C} = id(M1),
    io:format("~p~n", [{A, B, C}]),
    %% By keys in the order of terms, and then by their values.
    Ordered = [#{K1 => V1, K2 => V2} || {K1, K2} <- [{zulu_k1, alpha_k2}, {mike_k3, alpha_k2}, {zulu_k1, mike_k3}],
                                        V1 <- [1, 2], V2 <- [1, 2, 1.0]],
    io:format("~p~n", [[lists:sort(maps:to_list(M)) || M <- lists:sort(Ordered)]]),
    io:format("~w~n", [[{X < Y, X =:= Y, X == Y} || X <- Ordered, Y <- Ordered]]),
    io:format("~w~n", [[erlang:phash2(M) || M <- Maps ++ Ordered]]).

show(M) ->
    io:format("~w~n~p~n~p ~p ~p~n", [M, M, maps:to_list(M), maps:keys(M), maps:values(M)]),
    io:format("~p~n", [maps:fold(fun(K, V, Acc) -> [{K, V} | Acc] end, [], M)]),
    io:format("~p~n", [one_by_one(maps:next(maps:iterator(M)))]),
    io:format("~w~n~w~n", [term_to_binary(M), term_to_binary(M, [deterministic])]).

atoms() -> [zulu_k1, ok, alpha_k2, error, kilo_k8, badarg, bravo_k9, exit, throw, undefined, normal, kill, killed, noproc].
one_by_one(none) -> [];
one_by_one({K, V, Next}) -> [{K, V} | one_by_one(maps:next(Next))].
id(X) -> X.
