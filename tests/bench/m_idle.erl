%% What an idle process costs. The argument says how many there are to be; each one has started and
%% waits. process_info tells its memory; the runner compares the peak resident set of a run with
%% many against one with none.
-module(m_idle).
-export([main/1]).

main([Text]) ->
    N = list_to_integer(Text),
    Self = self(),
    Pids = [spawn(fun() -> Self ! ready, wait() end) || _ <- lists:seq(1, N)],
    [receive ready -> ok end || _ <- Pids],
    Sizes = [element(2, process_info(P, memory)) || P <- lists:sublist(Pids, 1000)],
    io:format("processes ~b~n", [length(Pids)]),
    io:format("bytes_info ~b~n", [lists:sum(Sizes) div max(1, length(Sizes))]).

wait() -> receive stop -> ok end.
