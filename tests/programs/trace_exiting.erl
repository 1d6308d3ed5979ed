%% The trace flag `exiting`: the last event of a process, behind those of the flags beside it. A process that
%% is told to end comes in once more for it.
-module(trace_exiting).
-export([main/1]).

main(_) ->
    [begin
         io:format("~p ~p~n", [Flags, How]),
         [io:format("  ~p~n", [Event]) || Event <- events(Flags, How)]
     end
     || Flags <- [[exiting], [running], [running, exiting], [running_procs, exiting], [procs, exiting],
                  [running, procs, exiting], [exiting, silent, arity], [timestamp, exiting]],
        How <- [done, exit, killed, killed_suspended, killed_running]],
    io:format("~p~n", [taken_away()]).

events(Flags, How) ->
    {P, M} = waiting(How),
    erlang:trace(P, true, Flags),
    finish(P, How),
    receive {'DOWN', M, process, P, _} -> ok end,
    of_process(How, all_of(P)).

taken_away() ->
    {P, M} = waiting(done),
    erlang:trace(P, true, [exiting, procs]),
    Shown = erlang:trace_info(P, flags),
    erlang:trace(P, false, [exiting]),
    finish(P, done),
    receive {'DOWN', M, process, P, _} -> ok end,
    {Shown, all_of(P)}.

%% A process with a name that waits for a message.
waiting(How) ->
    {P, M} = spawn_monitor(fun() -> register(traced_to_its_end, self()), wait(How) end),
    until(fun() -> whereis(traced_to_its_end) =:= P andalso process_info(P, status) =:= {status, waiting} end),
    {P, M}.

wait(How) ->
    receive
        {go, From} when How =:= killed_running -> From ! running, loop(0);
        {go, _} when How =:= exit -> exit(bye);
        {go, _} -> ok
    end.

loop(N) -> loop(N + 1).

finish(P, killed) -> exit(P, kill);
finish(P, killed_suspended) -> erlang:suspend_process(P), exit(P, kill);
finish(P, killed_running) -> P ! {go, self()}, receive running -> exit(P, kill) end;
finish(P, _) -> P ! {go, self()}.

until(Holds) ->
    case Holds() of
        true -> ok;
        false -> erlang:yield(), until(Holds)
    end.

all_of(P) ->
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    collect(P).

collect(P) ->
    receive
        {trace, P, Tag, What} -> [{Tag, What} | collect(P)];
        {trace_ts, P, Tag, What, {_, _, _}} -> [{timestamp, Tag, What} | collect(P)]
    after 0 -> []
    end.

%% How often one that runs was scheduled before it was told to end is a matter of luck, and so is where.
of_process(killed_running, Events) ->
    Tags = [element(1, E) || E <- Events],
    lists:nthtail(max(0, length(Tags) - 3), Tags);
of_process(_, Events) ->
    Events.
