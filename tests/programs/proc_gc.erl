%% Live data of every kind survives many collections while garbage is made around it.
-module(proc_gc).
-export([main/1]).

main(_) ->
    Live = live(),
    H = erlang:phash2(Live),
    churn(300),
    io:format("~p~n", [erlang:phash2(Live) =:= H]),
    erlang:garbage_collect(),
    io:format("~p~n", [Live =:= live()]),
    io:format("~p~n", [grow_and_shrink(5)]),
    io:format("~p~n", [queue_sim(queue:new(), 0, 20000)]),
    Parent = self(),
    Ps = [spawn_monitor(fun() -> L = live(), churn(30), Parent ! {self(), L =:= live()} end)
          || _ <- lists:seq(1, 8)],
    io:format("~p~n", [[receive {P, R} -> R end || {P, _} <- Ps]]),
    io:format("~p~n", [binaries(200, [])]),
    io:format("~p~n", [deep_with_garbage(2000)]),
    io:format("~p~n", [messages_during_gc()]),
    {garbage_collection, Info} = process_info(self(), garbage_collection),
    io:format("~p~n", [is_list(Info)]).

live() ->
    X = {captured, [1, 2]},
    {[{N, integer_to_list(N)} || N <- lists:seq(1, 500)],
     maps:from_list([{N, {N}} || N <- lists:seq(1, 100)]), #{small => [map]},
     binary:copy(<<"refc">>, 50), <<"heap">>, binary:part(binary:copy(<<"sub">>, 100), 10, 100),
     1 bsl 300, 1.0e-300, 2.5, (fun(Y) -> {X, Y} end)(z),
     [a | improper], "string", {}, [], <<5:3>>, fun lists:map/2, list_to_tuple(lists:seq(1, 200))}.

churn(0) -> ok;
churn(N) ->
    _ = [{I, [I, I], <<I:64>>, I * 1.5e300} || I <- lists:seq(1, 300)],
    _ = lists:sort(lists:reverse(lists:seq(1, 300))),
    churn(N - 1).

grow_and_shrink(0) -> [];
grow_and_shrink(N) -> L = lists:seq(1, 100000), S = lists:sum(L), erlang:garbage_collect(),
    [S | grow_and_shrink(N - 1)].

queue_sim(Q, S, 0) -> {S, queue:len(Q)};
queue_sim(Q, S, N) ->
    Q1 = queue:in({N, [N]}, Q),
    case N rem 3 of
        0 -> {{value, {V, [V]}}, Q2} = queue:out(Q1), queue_sim(Q2, S + V, N - 1);
        _ -> queue_sim(Q1, S, N - 1)
    end.

binaries(0, Keep) -> {length(Keep), erlang:phash2(Keep)};
binaries(N, Keep) ->
    B = binary:copy(<<N>>, 10000),
    K = case N rem 20 of 0 -> [binary:part(B, N, 10) | Keep]; _ -> Keep end,
    binaries(N - 1, K).

deep_with_garbage(0) -> 0;
deep_with_garbage(N) ->
    L = lists:seq(1, 50), T = list_to_tuple(L),
    R = deep_with_garbage(N - 1),
    R + length(L) + tuple_size(T).

messages_during_gc() ->
    Self = self(),
    spawn(fun() -> [Self ! {x, lists:seq(1, 20)} || _ <- lists:seq(1, 5000)], Self ! end_ end),
    sum_all(0).
sum_all(N) ->
    _ = lists:duplicate(100, N),
    receive {x, L} -> sum_all(N + length(L)); end_ -> N end.
