%% Requests of a process of max priority to one of normal priority were never answered while processes
%% of high priority kept all schedulers busy.
-module(proc_urgent_requests).
-export([main/1]).

%% Nothing is printed while they are busy: input and output wait as well.
main(_) ->
    io:format("~p~n", [process_info(self(), priority)]),
    Waiting = spawn_opt(fun() -> receive stop -> ok end end, [{priority, normal}]),
    Low = spawn_opt(fun() -> receive stop -> ok end end, [{priority, low}]),
    Init = whereis(init),
    Leader = group_leader(),
    process_flag(priority, max),
    Busy = [spawn_opt(fun() -> count(0) end, [{priority, high}])
            || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))],
    receive after 50 -> ok end,
    Answers = [ask(P, Init, Leader) || P <- [Waiting, Low, Waiting, Low]],
    [exit(P, kill) || P <- Busy],
    process_flag(priority, normal),
    io:format("~p~n", [Answers]),
    [exit(P, kill) || P <- [Waiting, Low]],
    io:format("done~n").

ask(P, Init, Leader) ->
    true = group_leader(Init, P),
    {group_leader, Init} = process_info(P, group_leader),
    true = group_leader(Leader, P),
    {group_leader, Leader} = process_info(P, group_leader),
    true = is_process_alive(P),
    yes.

count(N) -> count(N + 1).
