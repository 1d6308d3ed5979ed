%% What test programs ask of the machine: internal state, dirty schedulers, binding to a scheduler.
-module(debug_state).
-export([main/1]).

main(_) ->
    io:format("~p~n", [c(fun() -> erts_debug:get_internal_state(reds_left) end)]),
    io:format("~p~n", [c(fun() -> erts_debug:set_internal_state(reds_left, 3) end)]),
    io:format("~p~n", [erts_debug:set_internal_state(available_internal_state, true)]),
    io:format("~p~n", [erts_debug:set_internal_state(available_internal_state, true)]),
    true = erts_debug:set_internal_state(reds_left, 100),
    io:format("~p~n", [erts_debug:get_internal_state(reds_left) =< 100]),
    io:format("~p~n", [erts_debug:set_internal_state(wait, deallocations)]),
    io:format("~p~n", [erts_debug:set_internal_state(wait, thread_progress)]),
    io:format("~p~n", [erts_debug:set_internal_state(available_internal_state, false)]),
    io:format("~p~n", [c(fun() -> erts_debug:set_internal_state(wait, deallocations) end)]),
    [io:format("~p~n", [{W, c(fun() -> erts_debug:W(A, B) end)}]) ||
        W <- [dirty_cpu, dirty_io], {A, B} <- [{scheduler, type}, {error, foo}, {copy, {a, "b", <<"c">>}},
                                               {wait, 1}]],
    [io:format("~p~n", [c(fun() -> erts_debug:dirty(W, scheduler, type) end)]) ||
        W <- [dirty_cpu, dirty_io, normal]],
    bound(),
    options().

c(F) -> try F() catch C:R -> {C, R} end.

bound() ->
    Self = self(),
    io:format("~p~n", [process_flag(scheduler, 1)]),
    1 = erlang:system_info(scheduler_id),
    io:format("~p~n", [process_flag(scheduler, 0)]),
    N = erlang:system_info(schedulers),
    Pids = [spawn_opt(fun() -> Self ! {self(), ids(200, [])} end, [{scheduler, S}, link]) ||
               S <- lists:seq(1, N), _ <- lists:seq(1, 20)],
    Got = [receive {P, Ids} -> Ids end || P <- Pids],
    io:format("~p~n", [Got =:= [[S] || S <- lists:seq(1, N), _ <- lists:seq(1, 20)]]),
    %% Those that are free run elsewhere meanwhile.
    Busy = spawn_opt(fun() -> ids(2000, []), receive stop -> ok end end, [{scheduler, 1}]),
    [receive {P, _} -> ok end || P <- [spawn(fun() -> Self ! {self(), ids(20, [])} end) || _ <- lists:seq(1, 50)]],
    Busy ! stop,
    ok.

ids(0, Seen) -> lists:usort(Seen);
ids(N, Seen) ->
    erlang:yield(),
    if N rem 50 =:= 0 -> receive after 1 -> ok end; true -> ok end,
    ids(N - 1, [erlang:system_info(scheduler_id) | Seen]).

options() ->
    N = erlang:system_info(schedulers),
    [io:format("~p~n", [c(fun() -> process_flag(scheduler, V) end)]) || V <- [-1, a, N + 1]],
    [io:format("~p~n", [c(fun() -> spawn_opt(fun() -> ok end, [{scheduler, V}]) end)]) || V <- [-1, a]].
