%% Exceptions and tail calls: what stands on the trace, catch in loops without growing, rethrown
%% across many frames.
-module(exc_tail).
-export([main/1, id/1, tail/1, via/2]).

main(_) ->
    io:format("~p~n", [functions(fun() -> tail(5), ok end)]),
    io:format("~p~n", [functions(fun() -> {?MODULE:via(fun(_) -> error(x) end, 1)} end)]),
    io:format("~p~n", [functions(fun() -> [apply(?MODULE, tail, [0]) | id(t)] end)]),
    io:format("~p~n", [functions(fun() -> body(3) end)]),
    io:format("~p~n", [loop(200000, 0)]),
    io:format("~p~n", [server_loop(50000)]),
    io:format("~p~n", [after_loop(1000, [])]),
    io:format("~p~n", [rethrow(50)]),
    {stack_size, A} = process_info(self(), stack_size),
    _ = (catch nest_catch(1000)),
    {stack_size, B} = process_info(self(), stack_size),
    io:format("~p~n", [abs(A - B) < 20]),
    io:format("~p~n", [try tail_in_try(3) catch error:bottom -> caught end]),
    io:format("~p~n", [catch lists:foreach(fun(X) when X > 2 -> throw({found, X}); (_) -> ok end,
                                           [1, 2, 3, 4])]),
    io:format("~p~n", [find(fun(X) -> X * X > 50 end, lists:seq(1, 100))]).

functions(F) ->
    try F() catch _:R:S -> {R, [N || {?MODULE, N, _, _} <- S, N =/= main]} end.

tail(0) -> error(tail);
tail(N) -> tail2(N).
tail2(N) -> tail(N - 1).
via(F, X) -> F(X).
body(0) -> error(body);
body(N) -> 1 + body2(N).
body2(N) -> 1 + body(N - 1).

loop(0, Acc) -> Acc;
loop(N, Acc) ->
    V = try risky(N) catch throw:X -> X; error:_ -> 0 end,
    loop(N - 1, Acc + V).
risky(N) when N rem 3 =:= 0 -> throw(1);
risky(N) when N rem 5 =:= 0 -> error(five);
risky(_) -> 2.

%% catch in the middle of an endless loop of tail calls
server_loop(0) -> done;
server_loop(N) ->
    case catch risky(N) of {'EXIT', _} -> server_loop(N - 1); _ -> server_loop(N - 1) end.

after_loop(0, Acc) -> length(Acc);
after_loop(N, Acc) -> try id(N) after put(after_loop, N) end, after_loop(N - 1, [N | Acc]).

rethrow(0) -> throw(start);
rethrow(50) -> try rethrow(49) catch throw:{N, R} -> {N, R} end;
rethrow(N) ->
    try rethrow(N - 1) catch throw:start -> throw({1, N}); throw:{K, R} -> throw({K + 1, R}) end.

nest_catch(0) -> exit(deep);
nest_catch(N) -> case catch nest_catch(N - 1) of {'EXIT', R} -> exit(R); V -> V end.

tail_in_try(0) -> error(bottom);
tail_in_try(N) -> try tail_in_try(N - 1) catch throw:never -> no end.

find(P, L) -> try [throw({ok, X}) || X <- L, P(X)], none catch R -> R end.
id(X) -> X.
