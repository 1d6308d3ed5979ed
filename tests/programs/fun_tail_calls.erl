%% Tail calls through funs, apply, external calls and BIFs run in constant stack.
-module(fun_tail_calls).
-export([main/1, ext/2, bounce/3]).

main(_) ->
    N = 300000,
    Loop = fun L(0, Acc) -> Acc; L(K, Acc) -> L(K - 1, Acc + 1) end,
    io:format("~p~n", [Loop(N, 0)]),
    io:format("~p~n", [?MODULE:ext(N, 0)]),
    io:format("~p~n", [by_apply(?MODULE, N)]),
    A = fun(F, G, K) -> case K of 0 -> done_a; _ -> G(G, F, K - 1) end end,
    B = fun(F, G, K) -> case K of 0 -> done_b; _ -> G(G, F, K - 1) end end,
    io:format("~p ~p~n", [A(A, B, N), A(A, B, N + 1)]),
    io:format("~p~n", [cps(N, fun(R) -> R end)]),
    io:format("~p~n", [state_a(lists:duplicate(N, x), 0)]),
    {stack_size, Before} = process_info(self(), stack_size),
    Here = deep_tail(N, fun() -> process_info(self(), stack_size) end),
    io:format("~p~n", [element(2, Here) - Before < 50]).

ext(0, Acc) -> Acc;
ext(K, Acc) -> ?MODULE:ext(K - 1, Acc + 1).

by_apply(M, N) -> M:bounce(M, N, 0).
bounce(_, 0, Acc) -> Acc;
bounce(M, N, Acc) when N rem 2 =:= 0 -> apply(M, bounce, [M, N - 1, Acc + 1]);
bounce(M, N, Acc) -> M:bounce(M, N - 1, Acc + 2).

cps(0, K) -> K(0);
cps(N, K) -> cps(N - 1, fun(R) -> K(R + 1) end).

state_a([], N) -> {a, N};
state_a([_ | T], N) -> state_b(T, N + 1).
state_b([], N) -> {b, N};
state_b([_ | T], N) -> state_c(T, N + 1).
state_c([], N) -> {c, N};
state_c([_ | T], N) -> state_a(T, N + 1).

deep_tail(0, F) -> F();
deep_tail(N, F) -> deep_tail(N - 1, F).
