%% Up to OTP 26 0.0 =:= -0.0: they match each other, and are one key. From OTP 27 on they differ.
-module(float_zeros_are_equal).
-export([main/1]).

main(_) ->
    Zeros = [zero(1), zero(-1)],
    [io:format("~w ~w: ~w~n", [X, Y, [X =:= Y, X =/= Y, not (X =:= Y), same(X, Y), other(X, Y), {X} =:= {Y}, [X, 1] =:= [Y, 1], [1 | X] =:= [1 | Y],
        {a, [X], #{b => X}} =:= {a, [Y], #{b => Y}}, #{X => 1} =:= #{Y => 1}, matched(X, Y), apply(erlang, id('=:='), [X, Y]), X == Y, X < Y]]) ||
        X <- Zeros ++ [0, 1, a], Y <- Zeros ++ [0, 1, []]],
    [io:format("~w: ~w~n", [X, [plus(X), minus(X), select(X), select_mixed(X), in_tuple({X, 1}), in_list([a, X]), guard(X), guard_minus(X), compound({f, {g, X}})]]) ||
        X <- Zeros ++ [0, 1.0, 0.5, a, "a"]],
    [io:format("~w~n", [try F(X) catch C:R -> {C, R} end]) || X <- Zeros, F <- functions()],
    tables(Zeros),
    dictionary(Zeros),
    Large = maps:from_list([{K * 1.0, K} || K <- lists:seq(0, 50)]),
    io:format("~w~n", [[{maps:get(X, Large, none), map_size(Large#{X => new}), maps:is_key(X, Large), map_size(maps:remove(X, Large)), looked_up(Large, X)} || X <- Zeros]]).

functions() ->
    [fun(X) -> maps:get(X, #{0.0 => plus}, none) end,
     fun(X) -> maps:get(X, #{zero(-1) => minus}, none) end,
     fun(X) -> looked_up(#{zero(-1) => minus, a => b}, X) end,
     fun(X) -> #{0.0 := V} = #{X => found}, V end,
     fun(X) -> #{a := V, 0.0 := W} = #{a => 1, X => found}, {V, W} end,
     fun(X) -> is_map_key(X, #{zero(-1) => 1, zero(1) => 2}) end,
     fun(X) -> (#{0.0 => old})#{X := new} end,
     fun(X) -> (#{0.0 => old, b => c})#{X => new, zero(-1) => newer} end,
     fun(X) -> maps:merge(#{X => 1}, #{0.0 => 2}) end,
     fun(X) -> maps:from_list([{X, 1}, {0.0, 2}, {zero(-1), 3}]) end,
     fun(X) -> maps:put(X, 1, #{zero(-1) => 0}) end,
     fun(X) -> map_size(maps:remove(X, #{zero(-1) => 0})) end,
     fun(X) -> [lists:member(X, [1, zero(-1)]), lists:keyfind(X, 1, [{zero(-1), a}]), lists:delete(X, [zero(-1), 1]), [zero(-1), 1, zero(1)] -- [X]] end,
     fun(X) -> [lists:usort([X, 0.0, zero(-1)]), lists:sort([X, 0.0, 0, zero(-1)]), ordsets:from_list([X, 0.0]), sets:size(sets:from_list([X, 0.0]))] end,
     fun(X) -> case {X, 0.0} of {Y, Y} -> same; _ -> other end end,
     fun(X) -> 0.0 = X end,
     fun(X) -> {ok, 0.0} = {ok, X} end,
     fun(X) -> [erlang:phash2(X), erlang:phash(X, 1 bsl 27), math:atan2(X, -1.0), <<X/float>>, term_to_binary(X)] end,
     fun(X) -> [ets:match_spec_run([{X}], ets:match_spec_compile(S)) || S <- [[{{0.0}, [], [yes]}], [{{'$1'}, [{'=:=', '$1', 0.0}], [yes]}],
                    [{{zero(-1)}, [], [yes]}], [{{'$1'}, [{'=/=', '$1', zero(-1)}], [yes]}]]] end].

tables(Zeros) ->
    [begin
         T = ets:new(t, [Type]),
         [ets:insert(T, {X, N}) || {X, N} <- lists:zip(Zeros, [1, 2])],
         io:format("~w ~w~n", [Type, [lists:sort(ets:tab2list(T)), [{ets:lookup(T, X), ets:member(T, X)} || X <- Zeros], [counted(T, X) || X <- Zeros],
             [ets:delete(T, X) || X <- Zeros], ets:info(T, size)]])
     end || Type <- [set, ordered_set, bag, duplicate_bag]].

dictionary(Zeros) ->
    [put(X, N) || {X, N} <- lists:zip(Zeros, [1, 2])],
    io:format("~w ~w ~w~n", [[get(X) || X <- Zeros], [erase(X) || X <- Zeros], get_keys()]).

counted(T, X) ->
    try ets:update_counter(T, X, 10) catch error:badarg -> badarg end.

zero(Sign) -> id(0.0) * id(Sign * 1.0).
id(X) -> X.
same(X, X) -> yes;
same(_, _) -> no.
other(X, Y) when X =/= Y -> yes;
other(_, _) -> no.
matched(X, Y) -> case {X, [Y]} of {Z, [Z]} -> yes; _ -> no end.
looked_up(Map, X) -> case Map of #{X := V} -> V; #{} -> none end.
plus(0.0) -> yes;
plus(_) -> no.
minus(-0.0) -> yes;
minus(_) -> no.
select(0.0) -> zero;
select(0.5) -> half;
select(1.0) -> one;
select(_) -> none.
select_mixed(a) -> a;
select_mixed(0) -> integer;
select_mixed("a") -> string;
select_mixed(0.0) -> zero;
select_mixed(1.0e-300) -> small;
select_mixed(_) -> none.
in_tuple({0.0, 1}) -> yes;
in_tuple(_) -> no.
in_list([a, 0.0]) -> yes;
in_list(_) -> no.
guard(X) when X =:= 0.0 -> yes;
guard(_) -> no.
guard_minus(X) when X =/= -0.0 -> no;
guard_minus(_) -> yes.
compound({f, {g, 0.0}}) -> yes;
compound(_) -> no.
