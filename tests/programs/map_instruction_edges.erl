%% Map instructions and guard functions at their edges: keys of all types, in constants and in registers,
%% small and large maps, what is no map, which key is missing first, results that replace their operands.
-module(map_instruction_edges).
-export([main/1]).
-compile([{no_auto_import, []}, inline_list_funcs]).

main(_) ->
    Maps = [#{}, #{a => 1}, small(), maps:from_list([{N, N * N} || N <- lists:seq(1, 32)]),
            maps:from_list([{N, N * N} || N <- lists:seq(1, 33)]), large(), not_a_map, {a, 1}, [a], <<"a">>,
            1 bsl 100],
    Keys = [a, b, 1, 1.0, 0.0, [], {}, "a", {a, 1}, <<"a">>, 1 bsl 70, -(1 bsl 70), self(), #{}, #{a => 1}],
    [show(M, K) || M <- Maps, K <- Keys],
    [show(constants, catch constants(M)) || M <- Maps],
    [show(in_guards, {in_guards(M), sizes(M)}) || M <- Maps ++ [<<1:3>>, <<0:4096>>, part()]],
    [show(updates, [catch update(M, K, K), catch update_both(M, K)]) || M <- Maps, K <- [a, b, 1, 1.0]],
    show(order, catch order(#{}, fun(X) -> io:format("~p ", [X]), X end)),
    show(replaced, [replaced(M) || M <- [#{a => #{a => x}}, maps:put(a, #{a => y}, large())]]),
    show(many, many(small(), 100, [])),
    show(nots, [catch negated(X) || X <- [true, false, 'maybe', 1]]),
    show(updated_in_guard, [updated(M) || M <- Maps]).

show(constants, X) -> io:format("constants ~p~n", [plain(X)]);
show(What, X) when is_atom(What) -> io:format("~p ~p~n", [What, plain(X)]);
show(M, K) ->
    io:format("~p~n", [plain([catch fetch(M, K), catch key(M, K), catch match(M, K), catch both(M, K),
                              catch erlang:map_get(K, M), catch is_map_key(K, M), catch map_size(M)])]).

%% Without stack traces, whose depth is not what this is about, and without pids.
plain({'EXIT', {R, _}}) -> {exit, plain(R)};
plain(P) when is_pid(P) -> pid;
plain(L) when is_list(L) -> [plain(X) || X <- L];
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain(M) when is_map(M), map_size(M) > 20 -> {map, map_size(M)};
plain(X) -> X.

small() -> #{a => 1, 1 => one, 1.0 => float, <<"a">> => bin, {a, 1} => tuple, 1 bsl 70 => big, [] => nil,
             "a" => string, #{} => empty, 0.0 => zero}.
large() -> maps:merge(small(), maps:from_list([{{x, N}, N} || N <- lists:seq(1, 200)])).
part() -> <<_:3, Rest/bits>> = <<1:3, 77:64>>, Rest.

fetch(M, K) -> #{K := V} = M, V.
key(M, K) -> case M of #{K := _} -> yes; #{} -> no; _ -> no_map end.
match(M, K) -> case M of #{K := V, a := A} -> {V, A}; #{a := A} -> A; _ -> none end.
both(M, K) -> maps:get(K, M) =:= map_get(K, M).

constants(#{1 := A, 1.0 := B, <<"a">> := C, {a, 1} := D, [] := E, "a" := F}) -> [A, B, C, D, E, F];
constants(#{1 bsl 70 := A}) -> A;
constants(#{a := A}) -> A;
constants(#{33 := A, 1 := B}) -> {A, B};
constants(#{32 := A, 1 := B}) -> {A, B}.

in_guards(M) when map_size(M) > 100 -> large;
in_guards(M) when is_map_key(a, M), map_get(a, M) =:= 1 -> with_a;
in_guards(M) when is_map_key(1.0, M) -> with_float;
in_guards(M) when map_size(M) =:= 0 -> empty;
in_guards(M) when not is_map_key(b, M) -> other_map;
in_guards(M) when byte_size(M) > 100 -> large_binary;
in_guards(M) when bit_size(M) rem 8 =/= 0 -> bits;
in_guards(M) when byte_size(M) > 0 -> bytes;
in_guards(_) -> other.

sizes(M) -> [catch map_size(M), catch byte_size(M), catch bit_size(M)].

update(M, K, V) -> M#{K := V, a => V}.
update_both(M, K) -> M#{K => 1, z := 2, y := 3}.
order(M, F) -> M#{F(c) := F(1), F(b) := F(2), F(a) := F(3)}.

%% The map's register may be where the value goes.
replaced(M0) ->
    #{a := M1} = M0,
    #{a := M2} = M1,
    {M2, case M1 of #{a := V, b := _} -> V; #{a := V} -> {only, V} end}.

many(_, 0, Acc) -> lists:sum([map_size(M) || M <- Acc]);
many(M, N, Acc) -> many(M#{a => N, {n, N rem 7} => [N]}, N - 1, [M | Acc]).

negated(X) -> {not X, not (not X)}.

updated(M) when M =/= not_a_map, map_get(a, M) =:= 1 -> map_size(M#{b => 2, a => 3});
updated(M) when is_map(M) -> map_size(M#{b => 2});
updated(_) -> none.
