%% throw, error, exit through try/of/catch/after and old catch: who catches what, in which order.
-module(exc_classes).
-export([main/1, id/1]).

main(_) ->
    Raisers = [fun() -> value end, fun() -> throw(t) end, fun() -> error(e) end,
               fun() -> exit(x) end,
               fun() -> error(e, [a, b]) end, fun() -> erlang:raise(throw, r, []) end,
               fun() -> erlang:raise(error, r, []) end,
               fun() -> erlang:raise(exit, r, []) end, fun() -> id(a) + 1 end,
               fun() -> throw({nested, {deep, [1]}}) end],
    io:format("~p~n", [[all(F) || F <- Raisers]]),
    io:format("~p~n", [[some(F) || F <- Raisers]]),
    io:format("~p~n", [[old_catch(F) || F <- Raisers]]),
    io:format("~p~n", [[with_of(F) || F <- Raisers]]),
    [begin R = (catch with_after(F)), io:format(" -> ~p~n", [strip(R)]) end || F <- Raisers],
    io:format("~p~n", [after_value()]),
    io:format("~p~n", [strip(catch after_raises())]),
    io:format("~p~n", [strip(catch catch_raises())]),
    io:format("~p~n", [strip(catch of_raises())]),
    io:format("~p~n", [(catch erlang:raise(badclass, r, []))]),
    io:format("~p~n", [guarded(5)]),
    io:format("~p~n", [[guarded(N) || N <- [1, 2, 3]]]),
    io:format("~p~n", [try try throw(inner) catch error:_ -> wrong end catch throw:T ->
                           {outer, T} end]),
    io:format("~p~n", [try (try error(a) after put(done, yes) end) catch error:A ->
                           {A, get(done)} end]),
    io:format("~p~n", [catch (1 + (catch throw(3)))]),
    io:format("~p~n", [{catch throw(1), catch throw(2)}]),
    io:format("~p~n", [throw_from_depth(10000)]),
    io:format("~p~n", [lists:foldl(fun(_, Acc) -> try throw(Acc + 1) catch N -> N end end, 0,
                                   lists:seq(1, 10000))]),
    io:format("~p~n", [catch [throw(N) || N <- [1, 2, 3], N > 1]]).

all(F) -> try F() catch C:R -> {C, R} end.

some(F) ->
    try all_but_throw(F) catch throw:R -> {outer_throw, R} end.
all_but_throw(F) ->
    try F()
    catch
        error:badarith -> arithmetic;
        error:R -> {error, R};
        exit:R -> {exit, R}
    end.

old_catch(F) -> strip(catch F()).

strip({'EXIT', {R, S}}) when is_list(S) -> {'EXIT', R, with_stack};
strip(R) -> R.

with_of(F) ->
    try F() of
        value -> matched
    catch
        throw:{nested, {deep, L}} when length(L) > 0 -> {deep, L};
        throw:R -> {t, R};
        C:_ -> C
    end.

with_after(F) ->
    try F() of V -> io:format("of ~p", [V]), V
    catch throw:t -> io:format("caught t"), caught
    after io:format(" after")
    end.

after_value() -> try normal after ignored end.
after_raises() -> try error(first) after error(second) end.
catch_raises() -> try error(first) catch error:first -> error({from, catch_}) end.
of_raises() -> try ok of ok -> error(in_of) catch error:in_of -> wrong end.

guarded(N) ->
    try throw(N)
    catch
        X when X < 2 -> small;
        X when X =:= 2 -> two;
        X -> {big, X}
    end.

throw_from_depth(N) -> try deep(N) catch throw:{bottom, X} -> X end.
deep(0) -> throw({bottom, id(reached)});
deep(N) -> [N | deep(N - 1)].
id(X) -> X.
