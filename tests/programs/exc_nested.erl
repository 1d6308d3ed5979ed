%% Deeply nested tries, exceptions inside handlers and after bodies, many live values across them.
-module(exc_nested).
-export([main/1, id/1]).

main(_) ->
    [io:format("~p~n", [try nest(5, How) catch C:Reason -> {C, Reason} end])
     || How <- [throw, error, exit, none]],
    io:format("~p~n", [live(1, 2, 3, fun() -> throw(x) end)]),
    io:format("~p~n", [live(1, 2, 3, fun() -> 10 end)]),
    io:format("~p~n", [chain([fun() -> throw(a) end, fun() -> error(b) end, fun() -> exit(c) end,
                              fun() -> d end])]),
    put(log, []),
    R = (catch try
                   log(body), try log(inner), throw(one) after log(inner_after), throw(two) end
               catch throw:T -> log({caught, T}), throw(three)
               after log(outer_after)
               end),
    io:format("~p ~p~n", [R, lists:reverse(get(log))]),
    io:format("~p~n", [catch_in_loop(1000, 0)]),
    io:format("~p~n", [retry(5)]),
    io:format("~p~n", [in_receive()]),
    io:format("~p~n", [variables()]),
    io:format("~p~n", [gc_in_between(20)]),
    io:format("~p~n",
              [[X || N <- lists:seq(1, 10), X <- [try check(N) catch throw:{odd, M} -> -M end]]]).

nest(0, throw) -> throw(bottom);
nest(0, error) -> error(bottom);
nest(0, exit) -> exit(bottom);
nest(0, none) -> [];
nest(N, How) ->
    try [N | nest(N - 1, How)]
    catch
        throw:X when N rem 2 =:= 1 -> throw({X, N});
        error:X -> erlang:error({X, N});
        exit:{X, _} -> {stopped, N, X};
        exit:X -> exit({X, N})
    after
        put({nest, N}, How)
    end.

live(A, B, C, F) ->
    D = id({A, B}), E = id([C | D]),
    try
        G = id(A + B), H = F(), {ok, A, B, C, D, E, G, H}
    catch
        throw:X -> {caught, X, A, B, C, D, E}
    end.

chain([]) -> [];
chain([F | T]) -> [try F() catch C:R -> {C, R} end | chain(T)].

log(X) -> put(log, [X | get(log)]).

catch_in_loop(0, Acc) -> Acc;
catch_in_loop(N, Acc) -> catch_in_loop(N - 1, case catch boom(N) of {'EXIT', {boom, _}} -> Acc + 1;
                                                  {'EXIT', quiet} -> Acc + 1000;
                                                  V -> Acc + V * 1000000 end).
boom(N) when N rem 10 =:= 0 -> exit(quiet);
boom(N) when N rem 7 =:= 0 -> throw(1);
boom(_) -> error(boom).

retry(0) -> gave_up;
retry(N) -> try flaky(N) catch error:{fail, M} -> [{failed, M} | retry(N - 1)] end.
flaky(2) -> [success];
flaky(N) -> error({fail, N}).

in_receive() ->
    self() ! {do, fun() -> throw(from_message) end},
    try receive {do, F} -> F() end catch T -> {T, process_info(self(), message_queue_len)} end.

variables() ->
    X = try id(1) catch _:_ -> 2 end,
    Y = try error(id(z)) catch error:Z -> {X, Z} end,
    {X, Y}.

gc_in_between(0) -> [];
gc_in_between(N) ->
    L = lists:seq(1, 1000),
    try
        erlang:garbage_collect(), M = [E * 2 || E <- L], throw({sum, lists:sum(M), lists:sum(L)})
    catch
        {sum, A, B} -> erlang:garbage_collect(), [A - B - lists:last(L) | gc_in_between(N - 1)]
    end.

check(N) when N rem 2 =:= 1 -> throw({odd, N});
check(N) -> N.
id(X) -> X.
