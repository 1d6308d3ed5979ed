%% A receive without clauses and with a timeout from a variable: the compiler leaves it in an x register, which is looked at once,
%% however many messages wake the process.
-module(receive_only_after).
-export([main/1]).

sleep(T) -> receive after T -> ok end.

for(T, Tag) -> receive {Tag, X} -> X after T -> timed_out end.

main(_) ->
    process_flag(trap_exit, true),
    Me = self(),
    Sleepers = [spawn_link(fun() -> Trap andalso process_flag(trap_exit, true), Me ! ready, sleep(infinity) end) || Trap <- [true, false]],
    [receive ready -> ok end || _ <- Sleepers],
    [begin [P ! {noise, N} || P <- Sleepers], busy(N) end || N <- lists:seq(1, 50)],
    exit(hd(Sleepers), shutdown),
    sleep(20),
    io:format("~p~n", [[{is_process_alive(P), element(2, process_info(P, message_queue_len))} || P <- Sleepers]]),
    [exit(P, kill) || P <- Sleepers],
    [receive {'EXIT', P, Why} -> io:format("~p~n", [Why]) end || P <- Sleepers],
    %% A time that is one, while messages come.
    Short = spawn_link(fun() -> sleep(200), Me ! awake end),
    [begin Short ! N, sleep(1) end || N <- lists:seq(1, 30)],
    receive awake -> io:format("awake~n") end,
    %% The receive after one that waited for ever has a time of its own again, and none is none.
    Asked = spawn_link(fun() -> Me ! {got, for(infinity, a), for(10, b), for(0, b), for(infinity, c)} end),
    sleep(5),
    Asked ! noise, sleep(5), Asked ! {a, 1}, sleep(50), Asked ! {c, 3},
    receive {got, _, _, _, _} = G -> io:format("~p~n", [G]) end,
    %% What is no time is no time, whatever came before.
    [io:format("~p~n", [element(1, element(2, catch for(T, nothing)))]) || T <- [foo, -1, 1 bsl 70, 1.0, {1}]],
    io:format("~p~n", [element(1, element(2, catch sleep(foo)))]),
    self() ! here,
    io:format("~p~n", [receive here -> was_there after 0 -> lost end]).

%% Other processes' registers are not those of who sleeps.
busy(N) -> lists:sum([length(integer_to_list(X * N)) || X <- lists:seq(1, 200)]).
