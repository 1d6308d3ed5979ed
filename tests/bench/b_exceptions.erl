%% try, catch, throw and error, raised near and far.
-module(b_exceptions).
-define(REPEAT, 20).
-include("bench.hrl").

once() -> {protected(300000, 0), thrown(60000, 0), errors(30000, 0), deep(500, 0)}.

protected(0, S) -> S;
protected(N, S) -> protected(N - 1, S + try ok(N) catch _:_ -> 0 end).
ok(N) when is_integer(N) -> N band 7.

thrown(0, S) -> S;
thrown(N, S) -> thrown(N - 1, S + try throw({t, N}) catch throw:{t, M} -> M band 7 end).

errors(0, S) -> S;
errors(N, S) ->
    errors(N - 1, S + case catch 1 div (N band 1) of {'EXIT', {badarith, _}} -> 1; 1 -> 2 end).

deep(0, S) -> S;
deep(N, S) -> deep(N - 1, S + try down(100) catch X -> X end).
down(0) -> throw(3);
down(N) -> 1 + down(N - 1).
