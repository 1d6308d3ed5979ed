%% erlang:system_profile/0,2: what is set and refused, and what the profiler is told of processes, ports and
%% schedulers.
-module(system_profile).
-export([main/1]).

main(_) ->
    settings(),
    [processes(How) || How <- [timestamp, monotonic_timestamp, strict_monotonic_timestamp]],
    in_turn(),
    ports(),
    schedulers(),
    gone().

settings() ->
    Profiler = profiler(),
    Dead = spawn(fun() -> ok end),
    Ref = monitor(process, Dead),
    receive {'DOWN', Ref, process, _, _} -> ok end,
    p(erlang:system_profile()),
    [p(caught(fun() -> erlang:system_profile(Who, What) end)) || {Who, What} <- [
        {nobody, [scheduler]}, {self(), nonsense}, {self(), [nonsense]}, {self(), [scheduler | nonsense]},
        {Dead, [scheduler]}, {nobody, []}, {undefined, nonsense}, {"", [scheduler]}]],
    [begin
         p(named(Profiler, erlang:system_profile(Profiler, What))),
         p(named(Profiler, erlang:system_profile()))
     end || What <- [[exclusive], [runnable_ports, runnable_procs], [timestamp],
                     [exclusive, runnable_ports, runnable_procs, monotonic_timestamp]]],
    p(named(Profiler, erlang:system_profile(undefined, []))),
    p(erlang:system_profile()).

%% A process that waits, is sent two messages and ends.
processes(How) ->
    Main = self(),
    Pid = spawn(fun() -> wait(Main), wait(Main), exit(over) end),
    let_it_wait(),
    Profiler = profiler(),
    undefined = erlang:system_profile(Profiler, [runnable_procs, How]),
    Pid ! go,
    receive {Pid, 1} -> let_it_wait() end,
    Pid ! go,
    receive {Pid, 1} -> let_it_wait() end,
    Events = [E || E <- stop(Profiler), element(2, E) =:= Pid],
    Times = [T || {profile, _, _, _, T} <- Events],
    p([{What, Where} || {profile, _, What, Where, _} <- Events]),
    p({sorted, Times =:= lists:sort(Times), How, shape(hd(Times))}),
    p({none_of_itself, [] =:= [E || E <- Events, element(2, E) =:= Profiler]}).

wait(Main) ->
    receive go -> Main ! {self(), 1} end.

%% However they wake each other, what is said of one process alternates.
in_turn() ->
    Profiler = profiler(),
    Main = self(),
    undefined = erlang:system_profile(Profiler, [runnable_procs]),
    Pids = [spawn(fun() -> relay(Main, 200) end) || _ <- lists:seq(1, 20)],
    [P ! {ring, tl(Pids) ++ [hd(Pids)]} || P <- Pids],
    [receive {done, P} -> ok end || P <- Pids],
    [begin R = monitor(process, P), receive {'DOWN', R, _, _, _} -> ok end end || P <- Pids],
    Events = stop(Profiler),
    p([alternates([What || {profile, P, What, _, _} <- Events, P =:= Pid], active) || Pid <- Pids]).

relay(Main, N) ->
    receive {ring, Pids} -> relay(Main, Pids, N) end.
relay(Main, _, 0) ->
    Main ! {done, self()};
relay(Main, Pids, N) ->
    [P ! token || P <- lists:sublist(Pids, 2)],
    receive token -> ok after 5 -> ok end,
    relay(Main, tl(Pids) ++ [hd(Pids)], N - 1).

alternates([What | Rest], What) -> alternates(Rest, other(What));
alternates(Rest, _) -> Rest.

other(active) -> inactive;
other(inactive) -> active.

ports() ->
    Profiler = profiler(),
    undefined = erlang:system_profile(Profiler, [runnable_ports]),
    Port = open_port({spawn, "cat"}, [binary]),
    port_command(Port, "hello\n"),
    receive {Port, {data, Data}} -> p(Data) end,
    port_close(Port),
    Events = [E || E <- stop(Profiler), element(2, E) =:= Port],
    p(alternates([What || {profile, _, What, 0, _} <- Events], active) -- [active]),
    p(length(Events) >= 4).

schedulers() ->
    Profiler = profiler(),
    undefined = erlang:system_profile(Profiler, [scheduler]),
    receive after 100 -> ok end,
    Events = stop(Profiler),
    p(lists:usort([{What, is_integer(N), is_integer(Id), shape(T)} || {profile, scheduler, Id, What, N, T} <- Events])),
    p(lists:usort([tuple_size(E) || E <- Events])).

%% With the profiler the setting goes.
gone() ->
    Profiler = profiler(),
    undefined = erlang:system_profile(Profiler, [runnable_procs]),
    Ref = monitor(process, Profiler),
    exit(Profiler, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    spawn(fun() -> ok end),
    receive after 50 -> ok end,
    p(erlang:system_profile()).

profiler() ->
    spawn(fun() -> collect([]) end).

collect(Events) ->
    receive
        {stop, From} -> From ! {events, lists:reverse(Events)};
        Event -> collect([Event | Events])
    end.

stop(Profiler) ->
    receive after 50 -> ok end,
    {Profiler, _} = erlang:system_profile(undefined, []),
    receive after 50 -> ok end,
    Profiler ! {stop, self()},
    receive {events, Events} -> Events end.

%% Not asked of the process: that may wake it.
let_it_wait() ->
    receive after 50 -> ok end.

named(Pid, {Pid, Options}) -> {profiler, Options};
named(_, Other) -> Other.

shape({_, _, _}) -> now;
shape({N, M}) when is_integer(N), is_integer(M) -> strict;
shape(N) when is_integer(N) -> monotonic.

caught(F) ->
    try F() catch C:R -> {C, R} end.

p(T) ->
    io:format("~p~n", [T]).
