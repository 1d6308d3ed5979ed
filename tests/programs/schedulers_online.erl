%% Schedulers that are offline run nothing, whatever wakes processes there, and come back; who blocks
%% multi-scheduling, and that it ends with him.
-module(schedulers_online).
-export([main/1]).

main(_) ->
    N = erlang:system_info(schedulers),
    show(start, [erlang:system_info(schedulers_online) =:= N, erlang:system_info(multi_scheduling)]),
    show(info, [[erlang:system_info(I) =:= N || I <- [schedulers_active, schedulers_total, run_queues]],
                lists:usort(tuple_to_list(erlang:system_info(scheduler_bindings))),
                erlang:system_info(scheduler_bind_type), erlang:system_info({cpu_topology, defined}),
                hd(erlang:system_info(all_schedulers_state)) =:= {normal, N, N, N},
                [element(1, K) || K <- erlang:system_info(all_schedulers_state)]]),
    bad(N),
    one(N),
    toggle(N),
    dirty(N),
    N > 1 andalso blocks(),
    N > 1 andalso blocker_ends(),
    normal(),
    show('end', [element(2, erlang:system_info(schedulers_state)) =:= N]).

show(What, Terms) -> io:format("~w: ~w~n", [What, Terms]).

bad(N) ->
    show(bad, [try erlang:system_flag(Flag, Value) catch error:R -> R end
               || {Flag, Value} <- [{schedulers_online, 0}, {schedulers_online, N + 1}, {schedulers_online, a},
                                    {schedulers_online, -1}, {schedulers_online, 1 bsl 70},
                                    {dirty_cpu_schedulers_online, 0}, {dirty_cpu_schedulers_online, N + 1},
                                    {multi_scheduling, a}, {multi_scheduling, 1}]]).

%% All that runs does so on the first one.
one(N) ->
    N = erlang:system_flag(schedulers_online, 1),
    show(one, [erlang:system_info(schedulers_online), erlang:system_info(schedulers_state) =:= {N, 1, 1},
               where(20), where(1)]),
    show(again, [erlang:system_flag(schedulers_online, 1), erlang:system_flag(schedulers_online, N),
                 erlang:system_info(schedulers_online) =:= N]).

%% Where processes run that compute, talk, wait for timers and are woken by other processes.
where(Count) ->
    Parent = self(),
    Pids = [spawn_link(fun() -> Parent ! {self(), lists:usort(lists:append([step(I) || I <- lists:seq(1, 30)]))} end)
            || _ <- lists:seq(1, Count)],
    lists:usort(lists:append([receive {P, Ids} -> Ids end || P <- Pids])).

step(I) ->
    Here = erlang:system_info(scheduler_id),
    Sum = lists:sum(lists:seq(1, 2000)),
    Sum = lists:sum(lists:seq(1, 2000)),
    Self = self(),
    {P, M} = spawn_monitor(fun() -> receive {Self, X} -> Self ! {self(), X, erlang:system_info(scheduler_id)} end end),
    P ! {Self, I},
    There = receive {P, I, Id} -> Id end,
    receive {'DOWN', M, process, P, normal} -> ok end,
    I rem 10 =:= 0 andalso begin
                               erlang:send_after(1, self(), timer),
                               receive timer -> ok end,
                               receive after 1 -> ok end
                           end,
    erlang:yield(),
    [Here, There, erlang:system_info(scheduler_id)].

%% On and off while they run; nothing is lost.
toggle(N) ->
    Parent = self(),
    Toggler = spawn_link(fun() -> toggling(N) end),
    Pids = [spawn_link(fun() -> [step(I) || I <- lists:seq(1, 100)], Parent ! {self(), done} end)
            || _ <- lists:seq(1, 10)],
    Done = [receive {P, done} -> done end || P <- Pids],
    Toggler ! {stop, self()},
    receive stopped -> ok end,
    show(toggle, [length(Done), erlang:system_info(schedulers_online) =:= N]).

toggling(N) ->
    receive {stop, From} -> From ! stopped
    after 1 ->
            N = erlang:system_flag(schedulers_online, 1),
            receive after 1 -> ok end,
            1 = erlang:system_flag(schedulers_online, N),
            toggling(N)
    end.

dirty(N) ->
    D = erlang:system_info(dirty_cpu_schedulers),
    Old = erlang:system_flag(dirty_cpu_schedulers_online, 1),
    Used = [begin garbage_collect(P), exit(P, kill) end
            || P <- [spawn(fun() -> receive after infinity -> ok end end) || _ <- lists:seq(1, 20)]],
    show(dirty, [Old =:= D, length(Used), erlang:system_flag(dirty_cpu_schedulers_online, min(N, D))]).

blocks() ->
    A = erlang:system_flag(multi_scheduling, block),
    B = erlang:system_flag(multi_scheduling, block),
    Me = self(),
    show(block, [A, B, erlang:system_info(multi_scheduling), lists:usort(erlang:system_info(multi_scheduling_blockers)) =:= [Me],
                 erlang:system_info(normal_multi_scheduling_blockers), where(10)]),
    C = erlang:system_flag(multi_scheduling, unblock),
    D = erlang:system_flag(multi_scheduling, unblock),
    E = erlang:system_flag(multi_scheduling, unblock),
    show(unblock, [C, D, E, erlang:system_info(multi_scheduling), erlang:system_info(multi_scheduling_blockers)]).

blocker_ends() ->
    Parent = self(),
    {P, M} = spawn_monitor(fun() ->
                                   blocked = erlang:system_flag(multi_scheduling, block),
                                   Parent ! blocked,
                                   receive stop -> ok end
                           end),
    receive blocked -> ok end,
    show(other, [erlang:system_info(multi_scheduling), erlang:system_info(multi_scheduling_blockers) =:= [P],
                 erlang:system_flag(multi_scheduling, unblock)]),
    P ! stop,
    receive {'DOWN', M, process, P, R} -> show(ended, [R]) end,
    show(enabled, [await(enabled)]).

await(State) ->
    case erlang:system_info(multi_scheduling) of
        State -> State;
        _ -> receive after 1 -> await(State) end
    end.

normal() ->
    A = erlang:system_flag(multi_scheduling, block_normal),
    B = erlang:system_flag(multi_scheduling, block),
    C = erlang:system_flag(multi_scheduling, unblock),
    D = erlang:system_flag(multi_scheduling, unblock_normal),
    show(normal, [A, B, C, D]).
