%% A process that is killed in a dirty function ends at once for everybody else, however long the function takes:
%% monitors, links, names, tables; what was set up while it was there counts. Its function goes on alone.
-module(proc_killed_in_dirty_function).
-export([main/1]).

main(_) ->
    [with_fifo(F) || F <- [fun killed/0, fun by_link/0, fun trapped/0, fun unlinked_first/0,
                           fun waiting_for_a_scheduler/0, fun purged/0, fun tables/0, fun leader/0]],
    on_dirty_cpu(),
    many(),
    %% What goes on alone is over before the machine ends: ThreadSanitizer would miss the threads.
    receive after 2000 -> ok end.

%% F has a file that does not answer until F is done, and does from then on. The program that sees to that is started
%% before, for there may be no thread left that could start it.
with_fifo(F) ->
    Fifo = filename:join(os:getenv("TMPDIR", "/tmp"),
                         io_lib:format("minivm_fifo_~s_~p", [os:getpid(), erlang:unique_integer([positive])])),
    put(fifo, Fifo),
    Port = open_port({spawn, lists:flatten(io_lib:format("sh -c 'mkfifo ~s; echo made; read x; exec 3<>~s; rm ~s; echo released; read y'",
                                                         [Fifo, Fifo, Fifo]))}, [{line, 100}]),
    receive {Port, {data, {eol, "made"}}} -> ok end,
    F(),
    port_command(Port, "go\n"),
    receive {Port, {data, {eol, "released"}}} -> ok end.

%% A file that does not answer.
stay(Fifo) ->
    file:open(Fifo, [read, raw]).

there(Pid) ->
    case process_info(Pid, current_function) of
        {current_function, {prim_file, open_nif, 2}} -> ok;
        _ -> receive after 1 -> there(Pid) end
    end.

killed() ->
    Main = self(),
    Fifo = get(fifo),
    {Pid, Ref} = spawn_monitor(fun() -> register(victim, self()), stay(Fifo) end),
    there(Pid),
    Later = monitor(process, Pid),
    Watcher = spawn_link(fun() -> R = monitor(process, victim), Main ! {self(), watches},
                                  receive {'DOWN', R, process, {victim, _}, Why} -> Main ! {self(), Why} end end),
    receive {Watcher, watches} -> ok end,
    exit(Pid, kill),
    p({killed, down(Ref), down(Later), receive {Watcher, Why} -> Why after 30000 -> late end}),
    p({is_process_alive(Pid), process_info(Pid), whereis(victim), lists:member(Pid, processes())}),
    p(down(monitor(process, Pid))).

by_link() ->
    Main = self(),
    Fifo = get(fifo),
    Pid = spawn(fun() -> Child = spawn_link(fun() -> stay(Fifo) end), Main ! {child, Child},
                         receive after infinity -> ok end end),
    Child = receive {child, C} -> C end,
    there(Child),
    Ref = monitor(process, Child),
    exit(Pid, over),
    p({link, down(Ref)}).

%% One who traps exits hears of it when its function is over; kill is no exception, and ends it at once behind many
%% signals that do not.
trapped() ->
    Main = self(),
    Fifo = get(fifo),
    {Pid, Ref} = spawn_monitor(fun() -> process_flag(trap_exit, true), erts_debug:dirty_io(wait, 200), Main ! {self(), in},
                                        receive {'EXIT', Main, Why} -> exit({heard, Why}) end end),
    receive after 50 -> ok end,
    exit(Pid, over),
    p({trapped, receive {Pid, in} -> in after 30000 -> late end, down(Ref)}),
    {Pid2, Ref2} = spawn_monitor(fun() -> process_flag(trap_exit, true), stay(Fifo) end),
    there(Pid2),
    [exit(Pid2, over) || _ <- lists:seq(1, 30000)],
    p(is_process_alive(Pid2)),
    exit(Pid2, kill),
    p({killed, down(Ref2)}).

%% What arrived before the signal counts in its order.
unlinked_first() ->
    Main = self(),
    Fifo = get(fifo),
    {Pid, Ref} = spawn_monitor(fun() -> erts_debug:dirty_io(wait, 300), exit(done) end),
    Other = spawn(fun() -> link(Pid), unlink(Pid), Main ! {self(), linked}, exit(over) end),
    receive {Other, linked} -> ok end,
    p({unlinked, down(Ref)}),
    {Pid2, Ref2} = spawn_monitor(fun() -> stay(Fifo) end),
    there(Pid2),
    Other2 = spawn(fun() -> link(Pid2), exit(over) end),
    p({linked, is_pid(Other2), down(Ref2)}).

%% None is free: it never begins.
waiting_for_a_scheduler() ->
    Fifo = get(fifo),
    Busy = [spawn_monitor(fun() -> stay(Fifo) end) || _ <- lists:seq(1, erlang:system_info(dirty_io_schedulers))],
    [there(Pid) || {Pid, _} <- Busy],
    {Pid, Ref} = spawn_monitor(fun() -> stay(Fifo) end),
    receive after 50 -> ok end,
    exit(Pid, kill),
    p({waiting, down(Ref)}),
    [exit(B, kill) || {B, _} <- Busy],
    p(lists:usort([down(R) || {_, R} <- Busy])).

%% The code it is in can be purged.
purged() ->
    Name = killed_in_dirty_module,
    Forms = [{attribute, 1, module, Name}, {attribute, 2, export, [{f, 2}]},
             {function, 3, f, 2, [{clause, 3, [{var, 3, 'M'}, {var, 3, 'A'}], [],
                                   [{call, 3, {remote, 3, {atom, 3, file}, {var, 3, 'M'}},
                                     [{var, 3, 'A'}, {cons, 3, {atom, 3, read}, {cons, 3, {atom, 3, raw}, {nil, 3}}}]},
                                    {tuple, 3, [{atom, 3, a}, {string, 3, "literal"}]}]}]}],
    {ok, Name, Code} = compile:forms(Forms),
    {module, Name} = code:load_binary(Name, "none", Code),
    Fifo = get(fifo),
    {Pid, Ref} = spawn_monitor(fun() -> Name:f(open, Fifo) end),
    there(Pid),
    true = code:delete(Name),
    p({purge, code:purge(Name), down(Ref)}).

tables() ->
    Main = self(),
    Fifo = get(fifo),
    {Pid, Ref} = spawn_monitor(fun() -> T = ets:new(kept, [public, {heir, Main, data}]), U = ets:new(gone, [named_table, public]),
                                        ets:insert(T, {a, 1}), ets:insert(U, {a, 1}),
                                        stay(Fifo) end),
    there(Pid),
    exit(Pid, kill),
    p({tables, down(Ref), ets:whereis(gone),
       receive {'ETS-TRANSFER', T, Pid, data} -> ets:tab2list(T) after 30000 -> late end}).

%% It gets another group leader meanwhile.
leader() ->
    Fifo = get(fifo),
    {Pid, Ref} = spawn_monitor(fun() -> stay(Fifo) end),
    there(Pid),
    Mine = group_leader(),
    p([begin
           demonitor(monitor(process, Pid)),
           link(Pid),
           group_leader(L, Pid) andalso element(2, process_info(Pid, group_leader)) =:= L
       end || L <- [self(), Mine]]),
    p([process_info(Pid, I) =:= {I, V} || {I, V} <- [{links, [self()]}, {monitored_by, [self()]}]]),
    unlink(Pid),
    exit(Pid, kill),
    p(down(Ref)).

on_dirty_cpu() ->
    Main = self(),
    {Pid, Ref} = spawn_monitor(fun() -> erts_debug:dirty_cpu(alive_waitexiting, Main) end),
    receive {alive, Pid} -> ok end,
    exit(Pid, kill),
    p({dirty_cpu, down(Ref)}).

many() ->
    Main = self(),
    Pids = [spawn_monitor(fun() -> (fun F() -> re:run(lists:duplicate(20000, $a), "(a*)*b", []), Main ! again, F() end)() end)
            || _ <- lists:seq(1, 20)],
    receive after 100 -> ok end,
    [exit(P, kill) || {P, _} <- Pids],
    p(lists:usort([down(R) || {_, R} <- Pids])).

down(Ref) ->
    receive {'DOWN', Ref, process, _, Why} -> Why after 30000 -> late end.

p(T) ->
    io:format("~p~n", [T]).
