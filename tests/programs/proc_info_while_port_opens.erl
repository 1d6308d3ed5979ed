%% A process that opens ports is asked about its links, and is linked, meanwhile: they were read on one thread while
%% another one added the port.
-module(proc_info_while_port_opens).
-export([main/1]).

main(_) ->
    Self = self(),
    {Opener, Ref} = spawn_monitor(fun() -> process_flag(trap_exit, true), opens(Self, 10) end),
    Others = [spawn_monitor(fun() -> F(Opener) end) || F <- [fun asks/1, fun links/1, fun leads/1]],
    receive {'DOWN', Ref, process, Opener, Reason} -> io:format("~p~n", [Reason]) end,
    [receive {'DOWN', R, process, _, Why} -> io:format("~p~n", [Why]) end || {_, R} <- Others].

opens(_, 0) -> ok;
opens(To, N) ->
    Port = open_port({spawn, "true"}, []),
    is_port(Port) orelse exit(Port),
    opens(To, N - 1).

asks(P) ->
    Seen = process_info(P, links),
    is_process_alive(P) andalso Seen =/= undefined andalso asks(P).

%% With pauses: signals about links that come faster than they are handled keep a process from its dirty functions.
links(P) ->
    process_flag(trap_exit, true),
    link(P),
    unlink(P),
    receive {'EXIT', P, _} -> ok after 1 -> links(P) end.

leads(P) ->
    try group_leader(self(), P) of true -> leads(P) catch error:badarg -> ok end.
