%% atomics and counters: every operation, ranges, wrapping, errors.
-module(atomics_basics).
-export([main/1]).

main(_) ->
    signed(),
    unsigned(),
    counters(atomics),
    counters(write_concurrency),
    errors().

p(Name, Value) -> io:format("~w: ~tp~n", [Name, Value]).

signed() ->
    A = atomics:new(3, []),
    p(zero, [atomics:get(A, I) || I <- [1, 2, 3]]),
    p(put, [atomics:put(A, I, V) || {I, V} <- [{1, 1 bsl 62}, {2, -1}, {3, -(1 bsl 63)}]]),
    p(get, [atomics:get(A, I) || I <- [1, 2, 3]]),
    p(add, [atomics:add(A, I, V) || {I, V} <- [{1, 1 bsl 62}, {2, 1 bsl 63}, {3, -1}]]),
    p(get, [atomics:get(A, I) || I <- [1, 2, 3]]),
    p(sub, [atomics:sub(A, I, V) || {I, V} <- [{1, 1}, {2, -7}, {3, 1 bsl 62}]]),
    p(sub_get, [atomics:sub_get(A, I, 5) || I <- [1, 2, 3]]),
    p(add_get, [atomics:add_get(A, I, 12345678901234) || I <- [1, 2, 3]]),
    p(exchange, [atomics:exchange(A, I, I * 10) || I <- [1, 2, 3]]),
    p(cas, [atomics:compare_exchange(A, I, 20, 99) || I <- [1, 2, 3]]),
    p(get, [atomics:get(A, I) || I <- [1, 2, 3]]),
    p(info, maps:without([memory], atomics:info(A))),
    p(keys, lists:sort(maps:keys(atomics:info(A)))).

unsigned() ->
    A = atomics:new(2, [{signed, false}]),
    p(put, atomics:put(A, 1, (1 bsl 64) - 1)),
    p(get, atomics:get(A, 1)),
    p(wraps, {atomics:add_get(A, 1, 2), atomics:sub_get(A, 1, 3), atomics:sub_get(A, 2, 1)}),
    p(cas, {atomics:compare_exchange(A, 2, (1 bsl 64) - 1, 7), atomics:compare_exchange(A, 2, 1, 2)}),
    p(info, maps:without([memory], atomics:info(A))).

counters(Kind) ->
    C = counters:new(20, [Kind]),
    p(Kind, [counters:get(C, I) || I <- [1, 20]]),
    Me = self(),
    Workers = [spawn_link(fun() ->
                                  [counters:add(C, I rem 20 + 1, N) || I <- lists:seq(1, 2000)],
                                  Me ! {done, self()}
                          end) || N <- [1, 2, 3, -4, 5]],
    [receive {done, W} -> ok end || W <- Workers],
    p(sums, [counters:get(C, I) || I <- lists:seq(1, 20)]),
    p(sub, {counters:sub(C, 1, 10), counters:get(C, 1)}),
    p(put, {counters:put(C, 1, -(1 bsl 63)), counters:get(C, 1), counters:sub(C, 1, 1),
            counters:get(C, 1)}),
    p(size, maps:get(size, counters:info(C))).

errors() ->
    A = atomics:new(1, []),
    U = atomics:new(1, [{signed, false}]),
    C = counters:new(1, [write_concurrency]),
    Calls = [{atomics, new, [0, []]}, {atomics, new, [-1, []]}, {atomics, new, [x, []]},
             {atomics, new, [1, [nonsense]]}, {atomics, new, [1 bsl 70, []]},
             {atomics, get, [A, 0]}, {atomics, get, [A, 2]}, {atomics, get, [A, x]},
             {atomics, get, [make_ref(), 1]}, {atomics, get, [x, 1]},
             {atomics, put, [A, 1, 1 bsl 63]}, {atomics, put, [A, 1, x]}, {atomics, put, [U, 1, -1]},
             {atomics, put, [U, 1, 1 bsl 64]}, {atomics, add, [A, 1, 1 bsl 64]},
             {atomics, add, [A, 1, -(1 bsl 63) - 1]}, {atomics, sub, [A, 1, x]},
             {atomics, add_get, [A, 1, 1.0]}, {atomics, exchange, [A, 1, a]},
             {atomics, compare_exchange, [U, 1, -1, 0]}, {atomics, info, [C]},
             {counters, new, [0, []]}, {counters, new, [0, [write_concurrency]]},
             {counters, new, [1, [x]]}, {counters, get, [C, 2]}, {counters, get, [A, 1]},
             {counters, put, [C, 1, 1 bsl 63]}, {counters, add, [C, 1, x]}, {counters, info, [x]}],
    [p(F, {[short(X) || X <- As], failure(M, F, As)}) || {M, F, As} <- Calls].

failure(M, F, As) ->
    try apply(M, F, As)
    catch
        Class:Reason:Stack ->
            [{M1, F1, As1, _} | _] = Stack,
            {Class, Reason, M1, F1, [short(X) || X <- As1]}
    end.

%% References have no name that is the same on every run.
short(X) when is_reference(X) -> ref;
short({T, X}) when is_reference(X) -> {T, ref};
short(X) -> X.
