%% A bank server with concurrent clients: no money is made or lost, bad requests are refused.
-module(app_bank).
-export([main/1]).

main(_) ->
    Bank = spawn_link(fun() -> bank(#{}) end),
    [ok = call(Bank, {open, A, 100}) || A <- lists:seq(1, 20)],
    io:format("~p~n", [[call(Bank, R) || R <- [{open, 1, 5}, {balance, 1}, {balance, 99},
                                               {deposit, 1, -5}, {transfer, 1, 2, 1000},
                                               {transfer, 1, 99, 1}, {transfer, 1, 1, 10},
                                               nonsense]]]),
    Clients = [spawn_monitor(fun() -> client(Bank, N, 200) end) || N <- lists:seq(1, 30)],
    Counts = [receive {'DOWN', R, process, P, {done, Ok, Failed}} -> Ok + Failed end
              || {P, R} <- Clients],
    io:format("~p~n", [Counts]),
    Balances = [B || A <- lists:seq(1, 20), {ok, B} <- [call(Bank, {balance, A})]],
    io:format("~p ~p~n", [lists:sum(Balances), lists:all(fun(B) -> B >= 0 end, Balances)]),
    io:format("~p~n", [call(Bank, stop)]).

client(Bank, Seed, N) -> client(Bank, Seed * 7919, N, 0, 0).
client(_, _, 0, Ok, Failed) -> exit({done, Ok, Failed});
client(Bank, S, N, Ok, Failed) ->
    S1 = (S * 1103515245 + 12345) band 16#7FFFFFFF,
    case call(Bank, {transfer, S1 bsr 5 rem 20 + 1, S1 bsr 12 rem 20 + 1, S1 bsr 8 rem 60}) of
        ok -> client(Bank, S1, N - 1, Ok + 1, Failed);
        {error, _} -> client(Bank, S1, N - 1, Ok, Failed + 1)
    end.

call(Bank, Request) ->
    Ref = monitor(process, Bank),
    Bank ! {Request, self(), Ref},
    receive {Ref, Reply} -> demonitor(Ref, [flush]), Reply; {'DOWN', Ref, _, _, Why} ->
        exit(Why) end.

bank(Accounts) ->
    receive
        {stop, From, Ref} -> From ! {Ref, {stopped, map_size(Accounts)}};
        {Request, From, Ref} -> {Reply, New} = handle(Request, Accounts), From ! {Ref, Reply},
            bank(New)
    end.

handle({open, A, _}, M) when is_map_key(A, M) -> {{error, exists}, M};
handle({open, A, N}, M) when is_integer(N), N >= 0 -> {ok, M#{A => N}};
handle({balance, A}, M) -> {maps:find(A, M), M};
handle({deposit, A, N}, M) when N > 0, is_map_key(A, M) ->
    {ok, maps:update_with(A, fun(B) -> B + N end, M)};
handle({transfer, A, B, N}, M) ->
    case M of
        #{A := X, B := _} when X >= N ->
            M1 = M#{A := X - N}, {ok, maps:update_with(B, fun(Y) -> Y + N end, M1)};
        #{A := _, B := _} -> {{error, insufficient}, M};
        _ -> {{error, no_account}, M}
    end;
handle(_, M) -> {{error, bad_request}, M}.
