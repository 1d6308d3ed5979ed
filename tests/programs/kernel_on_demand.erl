%% OTP's kernel application comes up with its first use: processes that use it at the same time all
%% find it, and applications, logger handlers, global names, dets, disk_log and the file server work.
-module(kernel_on_demand).
-export([main/1, log/2, start/2, init/1]).

main(_) ->
    Self = self(),
    Users = [fun() -> lists:sort([A || {A, _, _} <- application:which_applications()]) end,
             fun() -> application:get_env(kernel, no_such_key) end,
             fun() -> global:whereis_name(nobody) end,
             fun() -> logger:get_handler_config(no_such_handler) end,
             fun() -> filelib:wildcard("no_such_*", "/") end,
             fun() -> rpc:call(node(), erlang, length, [[a, b]]) end,
             fun() -> timer:apply_after(0, erlang, node, []), timer end,
             fun() -> dets:info(no_such_table) end,
             fun() -> element(1, file:open("/no/such/file", [read])) end],
    Pids = [spawn_link(fun() -> Self ! {self(), F()} end) || F <- Users ++ Users],
    io:format("~p~n", [[receive {P, R} -> R end || P <- Pids]]),
    ok = logger:remove_handler(default),
    %% an application of our own
    App = {application, mine, [{description, "d"}, {vsn, "1"}, {modules, []}, {registered, []},
                               {applications, [kernel, stdlib]}, {env, [{k, v}]}, {mod, {?MODULE, [arg]}}]},
    io:format("~p~n", [[application:load(App), application:load(App), application:get_env(mine, k),
                        application:set_env(mine, k, w), application:get_env(mine, k),
                        application:ensure_all_started(mine), application:ensure_all_started(mine),
                        is_pid(whereis(the_sup)), application:get_application(whereis(the_sup)),
                        application:stop(mine), whereis(the_sup), application:unload(mine),
                        application:start(no_such_app)]]),
    io:format("~p~n", [element(1, application:ensure_all_started(sasl))]),
    %% a logger handler, and what it is told of a crash
    ok = logger:set_primary_config(level, notice),
    ok = logger:add_handler(own, ?MODULE, #{config => Self, level => error}),
    logger:info("not this"),
    logger:error("this: ~p", [1]),
    io:format("~p~n", [receive {event, #{level := L, msg := M}} -> {L, M} end]),
    spawn(fun() -> error(crash) end),
    io:format("~p~n", [receive {event, #{msg := {F, [_, {Why, _}]}, meta := Meta}} ->
                                   {F, Why, maps:keys(Meta), maps:get(error_logger, Meta)} end]),
    proc_lib:spawn(fun() -> error(crash) end),
    io:format("~p~n", [receive {event, #{msg := {report, #{label := Label}}}} -> Label end]),
    io:format("~p~n", [[global:register_name(me, self()), global:whereis_name(me) =:= self(),
                        global:unregister_name(me)]]),
    File = "/tmp/kernel_on_demand." ++ os:getpid(),
    {ok, t} = dets:open_file(t, [{file, File}]),
    ok = dets:insert(t, [{N, N * N} || N <- lists:seq(1, 100)]),
    io:format("~p ~p~n", [dets:lookup(t, 7), dets:close(t)]),
    {ok, log} = disk_log:open([{name, log}, {file, File ++ ".log"}]),
    ok = disk_log:log_terms(log, [a, b, {c, 1}]),
    {_, Terms} = disk_log:chunk(log, start),
    io:format("~p ~p~n", [Terms, disk_log:close(log)]),
    [file:delete(X) || X <- [File, File ++ ".log"]],
    io:format("~p~n", [{is_pid(erlang:system_info(system_logger)),
                        [S || {N, A, T} = S <- begin erlang:system_flag(scheduler_wall_time, true),
                                                     erlang:statistics(scheduler_wall_time) end,
                              N < 1 orelse A > T]}]).

log(Event, #{config := Pid}) -> Pid ! {event, Event}.

start(normal, [arg]) -> supervisor:start_link({local, the_sup}, ?MODULE, []).
init([]) -> {ok, {#{}, []}}.
