%% Rings, trees, and tens of thousands of processes at once.
-module(proc_many).
-export([main/1]).

main(_) ->
    io:format("~p~n", [ring(1000, 20)]),
    io:format("~p~n", [ring(20000, 1)]),
    io:format("~p~n", [tree(12)]),
    io:format("~p~n", [sequential(20000)]),
    io:format("~p~n", [parallel(5000)]),
    io:format("~p~n", [ping_pong(20000)]),
    io:format("~p~n", [pipeline(lists:seq(1, 500), [fun(X) -> X + 1 end, fun(X) -> X * 2 end,
                                                    fun(X) -> X - 3 end])]),
    io:format("~p~n", [pmap(fun(N) -> fib(N) end, lists:seq(1, 20))]),
    io:format("~p~n", [chameneos(3, 300)]).

ring(N, Rounds) ->
    Self = self(),
    Last = lists:foldl(fun(_, Next) -> spawn(fun() -> relay(Next) end) end, Self, lists:seq(1, N)),
    loop(Last, Rounds, 0).
relay(Next) -> receive stop -> Next ! stop; M -> Next ! M + 1, relay(Next) end.
loop(First, 0, Acc) -> First ! stop, receive stop -> Acc end;
loop(First, R, Acc) -> First ! Acc, receive M -> loop(First, R - 1, M) end.

tree(Depth) -> Self = self(), spawn(fun() -> branch(Self, Depth) end), receive {sum, S} -> S end.
branch(Parent, 0) -> Parent ! {sum, 1};
branch(Parent, D) ->
    Self = self(),
    [spawn_link(fun() -> branch(Self, D - 1) end) || _ <- [l, r]],
    Parent ! {sum, 1 + lists:sum([receive {sum, S} -> S end || _ <- [l, r]])}.

sequential(0) -> done;
sequential(N) ->
    {P, R} = spawn_monitor(fun() -> exit(N) end),
    receive {'DOWN', R, process, P, N} -> sequential(N - 1) end.

parallel(N) ->
    Self = self(),
    Ps = [spawn(fun() -> receive {go, K} -> Self ! {self(), K * I} end end)
          || I <- lists:seq(1, N)],
    [P ! {go, 2} || P <- Ps],
    lists:sum([receive {P, V} -> V end || P <- Ps]).

ping_pong(N) ->
    Self = self(),
    Pong = spawn(fun P() -> receive {ping, From, K} -> From ! {pong, K}, P();
                                stop -> Self ! stopped end end),
    [begin Pong ! {ping, self(), K}, receive {pong, K} -> ok end end || K <- lists:seq(1, N)],
    Pong ! stop,
    receive stopped -> N end.

pipeline(Items, Stages) ->
    Self = self(),
    First = lists:foldr(fun(F, Next) -> spawn(fun() -> stage(F, Next) end) end, Self, Stages),
    [First ! {item, I} || I <- Items], First ! done,
    sum_items(0).
stage(F, Next) -> receive {item, I} -> Next ! {item, F(I)}, stage(F, Next); done -> Next ! done end.
sum_items(S) -> receive {item, I} -> sum_items(S + I); done -> S end.

pmap(F, L) ->
    Self = self(),
    Refs = [begin R = make_ref(), spawn(fun() -> Self ! {R, F(X)} end), R end || X <- L],
    [receive {R, V} -> V end || R <- Refs].

fib(N) when N < 2 -> N;
fib(N) -> fib(N - 1) + fib(N - 2).

chameneos(N, Meetings) ->
    Self = self(),
    Broker = spawn(fun() -> broker(Meetings, none, Self) end),
    [spawn(fun() -> creature(Broker, 0, Self) end) || _ <- lists:seq(1, N)],
    lists:sum([receive {met, M} -> M end || _ <- lists:seq(1, N)]).
broker(0, none, _) -> receive {meet, P} -> P ! stop, broker(0, none, x) after 500 -> ok end;
broker(K, none, M) -> receive {meet, P} -> broker(K, P, M) end;
broker(K, Q, M) -> receive {meet, P} -> P ! {met, Q}, Q ! {met, P}, broker(K - 1, none, M) end.
creature(B, N, Main) ->
    B ! {meet, self()}, receive {met, _} -> creature(B, N + 1, Main); stop -> Main ! {met, N} end.
