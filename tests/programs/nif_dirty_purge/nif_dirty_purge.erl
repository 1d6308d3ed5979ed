%% Purges beside processes in dirty native functions: they do not wait for these, find what they run in, and
%% leave a library alone that a process is in.
-module(nif_dirty_purge).
-export([start/0]).

-define(NIF, nif_dirty_purge_module).

start() ->
    logger:set_primary_config(level, none),
    code:add_patha(os:getenv("PROGRAM_DIR")),
    M = nif_dirty_purge_m,
    Outside = blocked(fun() -> ?NIF:block(outside) end, 1),
    load(M, 1),
    Inside = blocked(fun() -> M:through(fun() -> ?NIF:block(inside) end) end, 2),
    Tail = blocked(fun() -> M:tail(fun() -> ?NIF:block(tail) end) end, 3),
    All = [Outside, Inside, Tail],
    p(current, checked(All, M)),
    load(M, 2),
    p(old, checked(All, M)),
    p(soft, code:soft_purge(M)),
    p(again, [{code:soft_purge(M), checked(All, M)} || _ <- lists:seq(1, 50)] =:= lists:duplicate(50, {false, [false, true, false]})),
    released(All),
    p(soft_without, code:soft_purge(M)),
    Other = blocked(fun() -> ?NIF:block(other) end, 1),
    p(rounds, lists:usort([begin load(M, N), {code:purge(M), erlang:check_old_code(M)} end || N <- lists:seq(3, 40)])),
    p(deleted, [code:delete(M), code:purge(M), code:is_loaded(M)]),
    p(still_there, {?NIF:waiting(), is_process_alive(element(1, Other))}),
    %% One that has got an exit signal is not alive, though its function goes on.
    Killed = blocked(fun() -> process_flag(trap_exit, true), ?NIF:block(killed) end, 2),
    exit(element(1, Killed), normal),
    exit(element(1, Killed), trapped),
    Before = is_process_alive(element(1, Killed)),
    exit(element(1, Killed), kill),
    p(killed, [Before, is_process_alive(element(1, Killed)), is_process_alive(element(1, Other)), ?NIF:waiting()]),
    %% Its own module: nothing of it is on the stack of who was spawned in it.
    Own = monitored(spawn(?NIF, block, [own]), 3),
    {module, ?NIF} = code:load_file(?NIF),
    p(own, checked([Other, Own], ?NIF)),
    p(own_soft, code:soft_purge(?NIF)),
    released([Other, Own, Killed]),
    p(own_soft, [code:soft_purge(?NIF), ?NIF:waiting()]),
    %% Whose process was killed: its module and the library's version can be purged around it.
    {Last, LastRef} = blocked(fun() -> ?NIF:block(last) end, 1),
    {module, ?NIF} = code:load_file(?NIF),
    p(own_before, code:soft_purge(?NIF)),
    exit(Last, kill),
    p(killed_inside, receive {'DOWN', LastRef, process, Last, Why} -> Why after 20000 -> late end),
    p(own_purged, [code:soft_purge(?NIF), erlang:check_old_code(?NIF), ?NIF:waiting()]),
    {module, ?NIF} = code:load_file(?NIF),
    p(own_again, [code:soft_purge(?NIF), ?NIF:waiting()]),
    ?NIF:release(1),
    none_waiting(),
    ?NIF:release(0),
    %% Processes that come and go meanwhile.
    Busy = [blocked(fun() -> busy(200) end, 0) || _ <- lists:seq(1, 4)],
    load(M, 50),
    load(M, 51),
    ?NIF:release(1),
    p(coming_and_going, lists:usort([{lists:usort(checked(Busy, M)), begin load(M, N), code:soft_purge(M) end} || N <- lists:seq(1, 60)])),
    released(Busy).

p(Name, Value) -> io:format("~w: ~0p~n", [Name, Value]).

busy(0) -> done;
busy(N) -> {blocked, N} = ?NIF:block(N), busy(N - 1).

blocked(F, Waiting) -> monitored(spawn(fun() -> exit({done, F()}) end), Waiting).

monitored(Pid, Waiting) ->
    Ref = monitor(process, Pid),
    until(Waiting),
    {Pid, Ref}.
none_waiting() ->
    case ?NIF:waiting() of
        0 -> ok;
        _ -> timer:sleep(2), none_waiting()
    end.
until(N) ->
    case ?NIF:waiting() >= N of
        true -> ok;
        false -> timer:sleep(2), until(N)
    end.

checked(All, M) -> [erlang:check_process_code(Pid, M) || {Pid, _} <- All].

released(All) ->
    ?NIF:release(1),
    p(released, [receive {'DOWN', Ref, process, Pid, Why} -> Why after 20000 -> late end || {Pid, Ref} <- All]),
    %% Who was killed is gone before its function has left; release(0) would keep that for ever.
    none_waiting(),
    ?NIF:release(0).

%% through: its frame is there while the fun runs; tail: it is not.
load(M, V) ->
    erlang:check_old_code(M) andalso code:purge(M),
    L = erl_anno:new(1),
    Call = {call, L, {var, L, 'F'}, []},
    Forms = [{attribute, L, module, M}, {attribute, L, export, [{through, 1}, {tail, 1}]},
             {function, L, through, 1, [{clause, L, [{var, L, 'F'}], [], [{tuple, L, [{integer, L, V}, Call]}]}]},
             {function, L, tail, 1, [{clause, L, [{var, L, 'F'}], [], [Call]}]}],
    {ok, M, Bin} = compile:forms(Forms),
    {module, M} = code:load_binary(M, "m", Bin),
    ok.
