%% What processors there are, as OTP finds them; the flags that OTP is going to give up; what is no item.
-module(system_topology).
-export([main/1, log/2]).

main(_) ->
    [io:format("~p ~p~n", [I, info(I)])
     || I <- [cpu_topology, {cpu_topology, detected}, {cpu_topology, used}, {cpu_topology, defined}, {cpu_topology, foo},
              scheduler_bind_type, backtrace_depth]],
    logger:remove_handler(default),
    ok = logger:add_handler(told, ?MODULE, #{self => self()}),
    [io:format("~p ~p~n    ~p~n", [Flag, flag(Flag, V), told()])
     || {Flag, V} <- [{cpu_topology, undefined}, {cpu_topology, foo}, {scheduler_bind_type, unbound},
                      {scheduler_bind_type, foo}]],
    io:format("~p~n", [erlang:system_info(cpu_topology)]),
    %% The native objects that a process refers to: their addresses and sizes are anybody's.
    references(fun() -> none end),
    references(fun() -> atomics:new(1, []) end),
    references(fun() -> [counters:new(1, []), ets:new(t, [])] end).

log(#{msg := Msg}, #{self := Pid}) -> Pid ! {told, Msg}.

told() ->
    receive
        {told, {Format, Args}} -> lists:flatten(io_lib:format(Format, Args));
        {told, Other} -> Other
    after 2000 -> none
    end.

info(I) -> try erlang:system_info(I) catch C:E -> {C, E} end.
flag(F, V) -> try erlang:system_flag(F, V) catch C:E -> {C, E} end.

references(Make) ->
    {Pid, Ref} = spawn_monitor(fun() ->
                                   T = Make(),
                                   {magic_ref, Told} = process_info(self(), magic_ref),
                                   exit({[References || {_, _, References} <- Told], T})
                               end),
    receive {'DOWN', Ref, process, Pid, {Told, _}} -> io:format("~p~n", [lists:sort(Told)]) end.
