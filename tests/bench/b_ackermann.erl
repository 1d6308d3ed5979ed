%% Deep recursion: the stack grows and shrinks.
-module(b_ackermann).
-define(REPEAT, 25).
-include("bench.hrl").

once() -> ack(3, 8).

ack(0, N) -> N + 1;
ack(M, 0) -> ack(M - 1, 1);
ack(M, N) -> ack(M - 1, ack(M, N - 1)).
