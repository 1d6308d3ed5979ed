%% Requests of an urgent process reach one whose turn does not come: group leader and process_info.
%% Processes of high priority keep all schedulers busy meanwhile.
-module(proc_signal_priority).
-export([main/1, spin/0, low/1]).

spin() -> spin().

low(Me) -> Me ! {up, self()}, receive {go, From} -> From ! {went, self()} end.

main(_) ->
    Me = self(),
    Ls = [begin P = spawn_opt(?MODULE, low, [Me], [{priority, Pr}]), receive {up, P} -> P end end
          || Pr <- [low, normal]],
    process_flag(priority, max),
    Busy = [spawn_opt(?MODULE, spin, [], [{priority, high}])
            || _ <- lists:seq(1, 2 * erlang:system_info(schedulers))],
    GL = spawn(fun() -> receive after infinity -> ok end end),
    %% Nothing is printed meanwhile: whoever prints is not urgent.
    Results = [{true, {group_leader, GL}} =:=
                   {group_leader(GL, L), process_info(L, group_leader)} || L <- Ls],
    Priorities = [process_info(L, priority) || L <- Ls],
    [exit(B, kill) || B <- Busy],
    process_flag(priority, normal),
    io:format("~p~n~p~n", [Results, Priorities]),
    [begin L ! {go, Me}, receive {went, L} -> io:format("runs now~n") end end || L <- Ls].
