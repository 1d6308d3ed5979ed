%% persistent_term: put, get, erase, replaced values that are still in use, errors.
-module(persistent_basics).
-export([main/1, id/1]).

id(X) -> X.

main(_) ->
    K = fun(X) -> {?MODULE, X} end,
    p(put, [persistent_term:put(K(I), I) || I <- lists:seq(1, 200)]),
    p(get, lists:sum([persistent_term:get(K(I)) || I <- lists:seq(1, 200)])),
    Big = [{I, integer_to_binary(I), #{I => [I]}} || I <- lists:seq(1, 500)],
    p(big, persistent_term:put(K(big), Big)),
    p(same, persistent_term:get(K(big)) =:= Big),
    p(shared, erts_debug:same(persistent_term:get(K(big)), persistent_term:get(K(big)))),
    Old = id(persistent_term:get(K(big))),
    p(replace, persistent_term:put(K(big), {new, <<0:9999>>, make_fun(7)})),
    erlang:garbage_collect(),
    p(old, erlang:phash2(Old) =:= erlang:phash2(Big)),
    {new, Bin, Fun} = persistent_term:get(K(big)),
    p(new, {bit_size(Bin), Fun(3)}),
    Me = self(),
    spawn_link(fun() -> Me ! {copy, persistent_term:get(K(big))} end),
    p(sent, receive {copy, {new, B2, F2}} -> {B2 =:= Bin, F2(1)} end),
    p(default, {persistent_term:get(K(nothing), 17), persistent_term:get(K(3), 17)}),
    p(erase, {persistent_term:erase(K(big)), persistent_term:erase(K(big)),
              persistent_term:get(K(big), gone)}),
    erlang:garbage_collect(),
    p(still, {bit_size(Bin), Fun(3)}),
    p(keys, [persistent_term:get(X, none)
             || X <- [1, 1.0, put(k, persistent_term:put(1, one)), persistent_term:put(1.0, float), 1, 1.0]]),
    p(all, lists:sort([{X, V} || {{?MODULE, X}, V} <- persistent_term:get(), X > 195])),
    #{count := C1} = persistent_term:info(),
    persistent_term:put(K(one_more), x),
    persistent_term:put(K(one_more), y),
    #{count := C2} = persistent_term:info(),
    p(count, C2 - C1),
    p(info, lists:sort(maps:keys(persistent_term:info()))),
    p(missing, try persistent_term:get(K(missing))
               catch Class:Reason:Stack -> {Class, Reason, element(2, hd(Stack)), element(3, hd(Stack))}
               end).

make_fun(N) -> fun(X) -> X * N end.

p(Name, Value) -> io:format("~w: ~tp~n", [Name, Value]).
