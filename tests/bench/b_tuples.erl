%% Tuples built, read and updated; a record as loop state.
-module(b_tuples).
-define(REPEAT, 63).
-include("bench.hrl").
-record(state, {count = 0, sum = 0, last, list = [], flag = false}).

once() ->
    S = loop(300000, #state{}),
    T = erlang:make_tuple(64, 0),
    {S#state.sum, S#state.count, update(20000, T)}.

loop(0, S) -> S;
loop(N, #state{count = C, sum = Sum, flag = F} = S) ->
    loop(N - 1, S#state{count = C + 1, sum = Sum + N, last = {N, C}, flag = not F}).

update(0, T) -> erlang:phash2(T);
update(N, T) -> I = N rem 64 + 1, update(N - 1, setelement(I, T, element(I, T) + N)).
