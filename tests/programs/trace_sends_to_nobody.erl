%% What a traced process sends to names, ports, aliases and terms of any kind: each is told once, with the
%% receiver as it was named (a port's name is told as the port), also if there is none or cannot be one.
-module(trace_sends_to_nobody).
-export([start/0]).

start() ->
    Main = self(),
    Port = open_port({spawn, "cat"}, []),
    register(port_name, Port),
    Closed = open_port({spawn, "cat"}, []),
    port_close(Closed),
    {Dead, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    Other = spawn_link(fun() -> Main ! {alias, alias()}, receive stop -> ok end end),
    Alias = receive {alias, A} -> A end,
    register(main, Main),
    To = [{name_of_nobody, not_there}, {name_of_nobody_here, {not_there, node()}},
          {name, main}, {name_here, {main, node()}}, {name_elsewhere, {main, 'a@b'}},
          {pid, Main}, {dead_pid, Dead}, {alias, Alias}, {reference, make_ref()},
          {port, Port}, {name_of_port, port_name}, {name_of_port_here, {port_name, node()}},
          {closed_port, Closed},
          {number, 12}, {float, 1.5}, {list, [a]}, {map, #{}}, {tuple, {a, b, c}},
          {bad_name, {1, node()}}, {bad_node, {main, 1}}],
    [sends(How, What, To1) || How <- [send_2, send_3, operator], {What, To1} <- To],
    unlink(Other),
    Other ! stop.

sends(How, What, To) ->
    Main = self(),
    {Pid, Ref} = spawn_monitor(fun() ->
                                       receive go -> ok end,
                                       Result = try send(How, To, {Main, {command, <<"x">>}})
                                                catch error:Reason -> Reason
                                                end,
                                       exit({result, is_atom(Result) andalso Result})
                               end),
    erlang:trace(Pid, true, [send]),
    Pid ! go,
    Reason = receive {'DOWN', Ref, process, Pid, R} -> R end,
    io:format("~w ~w ~w~n", [How, What, Reason]),
    Delivered = erlang:trace_delivered(Pid),
    told(Pid, Delivered).

send(send_2, To, Message) -> erlang:send(To, Message);
send(send_3, To, Message) -> erlang:send(To, Message, [noconnect]);
send(operator, To, Message) -> To ! Message.

told(Pid, Delivered) ->
    receive
        {trace, Pid, Event, {_, {command, _}}, To} ->
            io:format("    ~w ~w~n", [Event, plain(To)]),
            told(Pid, Delivered);
        {trace_delivered, Pid, Delivered} -> ok
    end.

plain(Pid) when is_pid(Pid) -> pid;
plain(Port) when is_port(Port) -> port;
plain(Ref) when is_reference(Ref) -> reference;
plain(Other) -> Other.
