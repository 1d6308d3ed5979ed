%% A token goes round a ring of processes.
-module(b_ring).
-define(REPEAT, 15).
-include("bench.hrl").

once() ->
    Self = self(),
    First = lists:foldl(fun(_, Next) -> spawn(fun() -> node_loop(Next) end) end, Self,
                        lists:seq(1, 500)),
    R = rounds(First, 200, 0),
    First ! stop,
    receive stop -> R end.

node_loop(Next) ->
    receive
        stop -> Next ! stop;
        N -> Next ! N + 1, node_loop(Next)
    end.

rounds(_, 0, N) -> N;
rounds(First, K, N) -> First ! N, receive M -> rounds(First, K - 1, M) end.
