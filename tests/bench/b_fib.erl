%% Small recursive calls.
-module(b_fib).
-define(REPEAT, 35).
-include("bench.hrl").

once() -> fib(30).

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).
