%% What erts_debug:get_internal_state/1 tells tests, once it is switched on; erts_debug:dirty_cpu/2 and the like.
-module(internal_state_hooks).
-export([start/0]).

start() ->
    Hooks = [processes, memory, process_info_args, {process_status, self()}, {internal_hash, a},
             {binary_info, <<>>}, {magic_ref, make_ref()}],
    [undef = failure(fun() -> erts_debug:get_internal_state(H) end) || H <- Hooks],
    false = erts_debug:set_internal_state(available_internal_state, true),
    Get = fun erts_debug:get_internal_state/1,
    io:format("processes: ~p~n", [lists:sort(Get(processes)) =:= lists:sort(processes())]),
    io:format("memory: ~p~n", [[lists:keymember(A, 1, Get(memory)) || A <- [total, binary, ets]]]),
    Arguments = Get(process_info_args),
    io:format("arguments: ~p~n", [[lists:member(A, Arguments) || A <- [status, links, memory, foo]]]),
    [[{A, _}] = process_info(self(), [A]) || A <- Arguments],
    statuses(Get),
    io:format("hashes: ~p~n", [[Get({internal_hash, T}) =:= Get({internal_hash, binary_to_term(term_to_binary(T))})
                                || T <- [a, 1, 1 bsl 70, {a, "b"}, #{a => 1}, 1.5]]]),
    Large = binary:copy(<<1>>, 1000),
    {refc_binary, Size, {binary, Allocated}, _} = Get({binary_info, Large}),
    io:format("binaries: ~p ~p~n", [Size, Allocated >= 1000]),
    io:format("~p ~p~n", [Get({binary_info, binary:copy(<<1>>, 20)}), failure(fun() -> Get({binary_info, a}) end)]),
    {Ref, Address} = erts_debug:set_internal_state(make, magic_ref),
    {Address, 1, true} = Get({magic_ref, Ref}),
    io:format("~p~n", [[failure(fun() -> Get(H) end) || H <- [foo, {foo, 1}, {process_status, a}, "x"]]]),
    dirty(),
    system_task(),
    links_and_monitors(Get),
    pids(Get),
    io:format("~p~n", [Get(stack_check) > 10000]),
    io:format("~p ~p~n", [is_integer(Get(nbalance)),
                          [{Name, is_list(List)} ||
                              {Name, List} <- tuple_to_list(Get(node_and_dist_references))]]),
    true = erts_debug:set_internal_state(available_internal_state, false).

statuses(Get) ->
    Waits = spawn(fun() -> receive stop -> ok end end),
    until(fun() -> Get({process_status, Waits}) =:= waiting end),
    {Ended, Monitor} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Monitor, _, _, _} -> ok end,
    until(fun() -> Get({process_status, Ended}) =:= undefined end),
    exit(Waits, kill),
    until(fun() -> Get({process_status, Waits}) =:= undefined end),
    io:format("status: ~p~n", [Get({process_status, self()})]).

until(F) -> F() orelse begin erlang:yield(), until(F) end.

dirty() ->
    io:format("~p~n", [[erts_debug:dirty_cpu(reschedule, 10), erts_debug:dirty_io(reschedule, 10),
                        erts_debug:dirty(normal, reschedule, 10)]]),
    [try apply(erts_debug, F, A ++ [error, Reason])
     catch Class:Got:Trace -> io:format("~p ~p ~0p~n", [Class, Got, hd(Trace)])
     end || {F, A} <- [{dirty_cpu, []}, {dirty_io, []}, {dirty, [normal]}, {dirty, [dirty_cpu]}, {dirty, [dirty_io]}],
            Reason <- [badarg, undef, badarith, system_limit, noproc, {another, "heap"}]].

system_task() ->
    Pid = spawn(fun() -> receive stop -> ok end end),
    erts_internal:request_system_task(Pid, normal, {system_task_test, it}),
    receive {system_task_test, it, Answer} -> io:format("task: ~p~n", [Answer]) end,
    exit(Pid, kill).

%% As the process itself has them, and the other one.
links_and_monitors(Get) ->
    Self = self(),
    Other = spawn_link(fun() -> register(other_one, self()), receive stop -> ok end end),
    until(fun() -> whereis(other_one) =:= Other end),
    Ref = monitor(process, Other),
    Named = monitor(process, other_one),
    Shown = fun(List) ->
                    lists:sort([case tuple_to_list(T) of
                                    [erl_link, Type, Pid, State, Id] ->
                                        {Type, of_two(Pid, Self, Other), State, is_integer(Id)};
                                    [erl_monitor, Type, Direction, R, Pid, Name] ->
                                        {Type, Direction, R =:= Ref, of_two(Pid, Self, Other), Name}
                                end || T <- List, element(4, T) =:= Other orelse element(4, T) =:= Self orelse
                                           lists:member(element(4, T), [Ref, Named])])
            end,
    [io:format("~p ~p~n", [Shown(Get({link_list, Pid})), Shown(Get({monitor_list, Pid}))]) || Pid <- [Self, Other]],
    unlink(Other),
    true = demonitor(Ref),
    true = demonitor(Named),
    io:format("~p ~p~n", [Shown(Get({link_list, Other})), Shown(Get({monitor_list, Other}))]),
    exit(Other, kill),
    until(fun() -> not is_process_alive(Other) end),
    io:format("~p ~p ~p~n", [Get({link_list, Other}), Get({monitor_list, Other}),
                             failure(fun() -> Get({link_list, 1}) end)]).

of_two(Pid, Pid, _) -> self;
of_two(Pid, _, Pid) -> other;
of_two(Pid, _, _) -> Pid.

%% Numbers that come again belong to nobody who lives, and all who live are found.
pids(Get) ->
    Next = Get(next_pid),
    Living = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 20)],
    io:format("~p~n", [is_integer(erts_debug:set_internal_state(next_pid, Next))]),
    More = [spawn(fun() -> receive stop -> ok end end) || _ <- lists:seq(1, 20)],
    io:format("~p ~p~n", [[Pid || Pid <- More, lists:member(Pid, Living)],
                          [self() | Living ++ More] -- processes()]),
    [exit(Pid, kill) || Pid <- Living ++ More].

failure(F) -> try F() catch error:E -> E end.
