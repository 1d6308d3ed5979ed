%% Two processes talk: one message there, one back.
-module(b_ping_pong).
-define(REPEAT, 12).
-include("bench.hrl").

once() ->
    Self = self(),
    P = spawn_link(fun() -> pong(Self) end),
    R = ping(P, 50000),
    P ! stop,
    R.

ping(_, 0) -> done;
ping(P, N) -> P ! {ping, N}, receive {pong, N} -> ping(P, N - 1) end.

pong(To) -> receive {ping, N} -> To ! {pong, N}, pong(To); stop -> ok end.
