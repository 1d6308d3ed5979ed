%% Dining philosophers with forks as processes, ordered so that nobody starves; a barrier; a
%% semaphore; a lock.
-module(app_philosophers).
-export([main/1]).

main(_) ->
    io:format("~p~n", [dine(5, 50)]),
    io:format("~p~n", [dine(2, 100)]),
    io:format("~p~n", [barrier(8, 20)]),
    io:format("~p~n", [semaphore(3, 20, 10)]).

dine(N, Meals) ->
    Self = self(),
    Forks = list_to_tuple([spawn_link(fun fork/0) || _ <- lists:seq(1, N)]),
    Ps = [spawn_link(fun() -> eat(element(min(I, I rem N + 1), Forks),
                                  element(max(I, I rem N + 1), Forks), Meals),
                         Self ! {full, self()} end) || I <- lists:seq(1, N)],
    [receive {full, P} -> ok end || P <- Ps],
    lists:sum([begin F ! {uses, self()}, receive {uses, U} -> U end end
               || F <- tuple_to_list(Forks)]).

eat(_, _, 0) -> ok;
eat(A, B, N) -> take(A), take(B), B ! put, A ! put, eat(A, B, N - 1).
take(F) -> F ! {take, self()}, receive {taken, F} -> ok end.
fork() -> fork(0).
fork(N) -> receive {take, P} -> P ! {taken, self()}, receive put -> fork(N + 1) end; {uses, P} ->
               P ! {uses, N} end.

barrier(N, Rounds) ->
    Self = self(),
    B = spawn_link(fun() -> barrier_loop(N, []) end),
    [spawn_link(fun() -> [begin B ! {wait, self()}, receive {go, R} -> ok end end
                          || R <- lists:duplicate(Rounds, N)], Self ! done end)
     || _ <- lists:seq(1, N)],
    length([receive done -> x end || _ <- lists:seq(1, N)]).
barrier_loop(N, Ps) when length(Ps) =:= N -> [P ! {go, N} || P <- Ps], barrier_loop(N, []);
barrier_loop(N, Ps) -> receive {wait, P} -> barrier_loop(N, [P | Ps]) end.

semaphore(Limit, Workers, Times) ->
    Self = self(),
    S = spawn_link(fun() -> sem(Limit, queue:new(), 0, 0) end),
    Ws = [spawn_link(fun() -> [begin S ! {acquire, self()}, receive acquired -> erlang:yield(),
                                                                S ! release end end
                               || _ <- lists:seq(1, Times)], Self ! {done, self()} end)
          || _ <- lists:seq(1, Workers)],
    [receive {done, W} -> ok end || W <- Ws],
    S ! {max, Self},
    receive {max, Inside, Max} -> {Inside, Max =< Limit} end.
sem(Free, Q, In, Max) ->
    receive
        {acquire, P} when Free > 0 -> P ! acquired, sem(Free - 1, Q, In + 1, max(Max, In + 1));
        {acquire, P} -> sem(Free, queue:in(P, Q), In, Max);
        release -> case queue:out(Q) of {{value, P}, Q1} -> P ! acquired, sem(Free, Q1, In, Max);
                       {empty, _} -> sem(Free + 1, Q, In - 1, Max) end;
        {max, P} -> P ! {max, In, Max}
    end.
