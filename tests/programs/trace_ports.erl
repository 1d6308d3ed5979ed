%% Ports as tracees: what they do and what is done to them is told as erl tells it.
-module(trace_ports).
-export([main/1]).

-define(FLAGS, [ports, send, 'receive']).

main(_) ->
    process_flag(trap_exit, true),
    new_ports(),
    commands(),
    names(),
    links(),
    owners(),
    drivers(),
    ends(),
    inputs(),
    turns(),
    times(),
    flags_and_tracers(),
    tracers_that_end(),
    everything(),
    by_flags(),
    bad_arguments().

new_ports() ->
    title(new_ports),
    0 = erlang:trace(new_ports, true, ?FLAGS),
    show([erlang:trace_info(P, I) || P <- [new_ports, new, new_processes], I <- [flags, tracer]]),
    Port = cat(), events(),
    show([erlang:trace_info(Port, I) || I <- [flags, tracer]]),
    port_close(Port), ended(Port),
    Exec = open_port({spawn_executable, "/bin/cat"}, [stream, {args, ["-"]}]), events(), port_close(Exec), ended(Exec),
    Fd = open_port({fd, 0, 1}, [out]), events(), port_close(Fd), ended(Fd),
    Self = self(),
    {Owner, Ref} = spawn_monitor(fun() -> P = cat(), Self ! {opened, P}, receive stop -> exit(boom) end end),
    receive {opened, P} -> sync(P) end, Owner ! stop,
    receive {'DOWN', Ref, process, Owner, boom} -> ok end, gone(P), events(),
    show(erlang:trace(new_ports, false, ?FLAGS)),
    Port2 = cat(), events(), port_close(Port2), ended(Port2).

commands() ->
    title(commands),
    Port = traced(cat()),
    Port ! {self(), {command, <<"hello">>}}, got(Port), events(),
    port_command(Port, ["a", <<"b">>, $c]), got(Port), events(),
    port_command(Port, lists:duplicate(50, "long")), got(Port), events(),
    Port ! {self(), nonsense}, receive {'EXIT', Port, badsig} -> ok end, sync(Port),
    Port ! {self(), {connect, foo}}, receive {'EXIT', Port, badsig} -> ok end, sync(Port),
    erlang:port_info(Port), erlang:port_set_data(Port, x), erlang:port_get_data(Port), sync(Port),
    erlang:demonitor(erlang:monitor(port, Port)), sync(Port),
    Port ! {self(), close}, receive {Port, closed} -> ok end, ended(Port).

names() ->
    title(names),
    Port = traced(cat()),
    register(trace_ports_name, Port), events(),
    trace_ports_name ! {self(), {command, "x"}}, got(Port), events(),
    unregister(trace_ports_name), events(),
    register(trace_ports_name, Port), port_close(Port), ended(Port).

links() ->
    title(links),
    Port = traced(cat()),
    unlink(Port), sync(Port),
    link(Port), sync(Port),
    unlink(Port), unlink(Port), sync(Port),
    {P, R} = spawn_monitor(fun() -> link(Port), receive X -> exit(X) end end),
    wait_for(fun() -> {links, L} = erlang:port_info(Port, links), lists:member(P, L) end), events(),
    P ! foo, receive {'DOWN', R, process, P, foo} -> ok end, gone(Port), events(),
    Port2 = traced(cat()),
    exit(Port2, reason), ended(Port2),
    Port3 = traced(cat()),
    unlink(Port3), sync(Port3), exit(Port3, why), gone(Port3), events().

owners() ->
    title(owners),
    Port = traced(cat()),
    Self = self(),
    P = spawn_link(fun() -> receive {Port, connected} -> ok end, receive back -> Port ! {self(), {connect, Self}} end,
                            receive {Port, connected} -> Self ! back end, receive stop -> ok end end),
    Port ! {self(), {connect, P}}, receive {Port, connected} -> P ! {Port, connected} end, sync(Port),
    P ! back, receive back -> ok end, sync(Port),
    erlang:port_connect(Port, self()), sync(Port),
    P ! stop, receive {'EXIT', P, normal} -> ok end, sync(Port),
    Q = spawn_link(fun() -> receive X -> exit(X) end end),
    erlang:port_connect(Port, Q), sync(Port),
    unlink(Port), sync(Port),
    Q ! normal, receive {'EXIT', Q, normal} -> ok end, gone(Port), events().

drivers() ->
    title(drivers),
    Port = traced(cat()),
    (catch port_control(Port, 1, "x")), sync(Port),
    (catch erlang:port_call(Port, 1, x)), sync(Port),
    port_close(Port), ended(Port).

ends() ->
    title(ends),
    %% What the program that starts others says to the port in the VM of the other kind is left out.
    [begin
         Port = open_port({spawn, "cat"}, [binary, {line, 4} | Options]),
         1 = erlang:trace(Port, true, ?FLAGS),
         port_command(Port, "one\ntwo34\n"), got(Port), got(Port), got(Port),
         OsPid = element(2, erlang:port_info(Port, os_pid)),
         os:cmd("kill -9 " ++ integer_to_list(OsPid)),
         lists:member(exit_status, Options) andalso receive {Port, {exit_status, S}} -> show(S) end,
         case lists:member(eof, Options) of
             true -> receive {Port, eof} -> ok end, events(), port_close(Port), ended(Port);
             false -> ended(Port)
         end
     end || Options <- [[], [exit_status], [eof], [exit_status, eof]]].

inputs() ->
    title(inputs),
    Port = open_port({spawn, "sh -c 'read x; printf \"\\000\\003abc\\000\\001d\"; read y'"}, [{packet, 2}]),
    1 = erlang:trace(Port, true, ?FLAGS),
    port_command(Port, "\n"), port_command(Port, "\n"), got(Port), got(Port), ended(Port).

%% erl tells them of pieces that its scheduler makes; what is common is that each command has a turn.
turns() ->
    title(turns),
    Port = cat(),
    1 = erlang:trace(Port, true, [running_ports]),
    port_command(Port, "x"), got(Port), sync_quietly(Port),
    Turns = raw_events(),
    show([T || T = {trace, _, _, command} <- Turns]),
    show(lists:usort([{Tag, Where} || {trace, _, Tag, Where} <- Turns, Where =/= info])),
    Port ! {self(), {connect, self()}}, receive {Port, connected} -> ok end, sync_quietly(Port),
    show([T || T = {trace, _, _, connect} <- raw_events()]),
    port_close(Port), receive {'EXIT', Port, normal} -> ok end, delivered(),
    show([T || T = {trace, _, in, close} <- raw_events()]).

times() ->
    title(times),
    Port = traced(cat()),
    [begin
         1 = erlang:trace(Port, true, [Stamp]),
         port_command(Port, "x"), got(Port), delivered(),
         show([{tuple_size(E), setelement(tuple_size(E), E, kind(element(tuple_size(E), E)))} || E <- raw_events()]),
         1 = erlang:trace(Port, false, [Stamp])
     end || Stamp <- [timestamp, monotonic_timestamp, strict_monotonic_timestamp]],
    port_close(Port), ended(Port).
kind({A, B, C}) when is_integer(A), is_integer(B), is_integer(C) -> timestamp;
kind(N) when is_integer(N) -> monotonic;
kind({N, M}) when is_integer(N), is_integer(M) -> strict.

flags_and_tracers() ->
    title(flags_and_tracers),
    Port = cat(),
    show(erlang:trace(Port, true, [call, procs, running_ports, garbage_collection, set_on_link, silent, arity, exiting])),
    show(erlang:trace_info(Port, flags)),
    show(erlang:trace(Port, false, [call, procs, running_ports])),
    show(erlang:trace_info(Port, flags)),
    show(erlang:trace(Port, true, [all])),
    show(erlang:trace_info(Port, flags)),
    show(erlang:trace(Port, false, [all])),
    show([erlang:trace_info(Port, I) || I <- [flags, tracer]]),
    Other = spawn_link(fun() -> receive stop -> ok end end),
    show(erlang:trace(Port, true, [ports, {tracer, Other}])),
    show(erlang:trace_info(Port, tracer)),
    show(erlang:trace(Port, false, [ports])),
    show(erlang:trace(Port, true, [{tracer, Port} | ?FLAGS])),
    show([erlang:trace_info(Port, I) || I <- [flags, tracer]]),
    port_command(Port, "to itself"), got(Port),
    events(),
    port_close(Port), ended(Port),
    show([catch erlang:trace_info(Port, I) || I <- [flags, tracer]]),
    Other ! stop, receive {'EXIT', Other, normal} -> ok end.

tracers_that_end() ->
    title(tracers_that_end),
    Port = cat(),
    {Tracer, R} = spawn_monitor(fun() -> receive stop -> ok end end),
    show(erlang:trace(Port, true, [{tracer, Tracer} | ?FLAGS])),
    Tracer ! stop, receive {'DOWN', R, process, Tracer, normal} -> ok end,
    port_command(Port, "x"), got(Port),
    show([erlang:trace_info(Port, I) || I <- [flags, tracer]]),
    show(erlang:trace(Port, true, ?FLAGS)),
    port_command(Port, "y"), got(Port), events(),
    port_close(Port), ended(Port).

everything() ->
    title(everything),
    Port = cat(),
    show(erlang:trace(existing_ports, true, [ports]) > 0),
    show(erlang:trace_info(Port, flags)),
    show(erlang:trace(ports, false, [ports]) > 0),
    show(erlang:trace_info(Port, flags)),
    Tracer = spawn_link(fun Loop() -> receive stop -> ok; _ -> Loop() end end),
    show(erlang:trace(all, true, [ports, {tracer, Tracer}]) > 0),
    Port2 = cat(),
    show([erlang:trace_info(P, flags) || P <- [Port, Port2, new_ports]]),
    show(erlang:trace(all, false, [ports]) > 0),
    show([erlang:trace_info(P, flags) || P <- [Port, Port2, new_ports]]),
    show(erlang:trace(existing_processes, true, [arity, {tracer, Tracer}]) > 0),
    show(erlang:trace_info(Port, flags)),
    show(erlang:trace(all, false, [all]) > 0),
    unlink(Tracer), Tracer ! stop,
    [begin port_close(P), ended(P) end || P <- [Port, Port2]].

%% The flags say whether processes or ports are meant, where neither is named; some flags are for both.
by_flags() ->
    title(by_flags),
    Port = cat(),
    Process = spawn_link(fun() -> receive stop -> ok end end),
    Tracer = spawn_link(fun Loop() -> receive stop -> ok; _ -> Loop() end end),
    All = [new_processes, new_ports, Process, Port],
    [begin
         Counts = [case erlang:trace(Who, How, Flags ++ [{tracer, Tracer} || How]) of 0 -> 0; N when N > 0 -> some end
                   || How <- [true, false]],
         erlang:trace(Who, true, Flags ++ [{tracer, Tracer}]),
         show({Who, Flags, Counts, [erlang:trace_info(P, flags) || P <- All]}),
         erlang:trace(all, false, [all])
     end || Who <- [all, processes, ports, existing, existing_processes, existing_ports, new, new_processes, new_ports],
            Flags <- [[], [call], [ports], [send], [running_ports, procs], [ports, silent],
                      [running_procs, timestamp]]],
    erlang:trace(all, true, [all, {tracer, Tracer}]),
    show([erlang:trace_info(P, flags) || P <- All]),
    erlang:trace(all, false, [procs, ports]),
    show([erlang:trace_info(P, flags) || P <- All]),
    erlang:trace(all, false, [all]),
    [begin unlink(P), P ! stop end || P <- [Process, Tracer]],
    port_close(Port), ended(Port).

bad_arguments() ->
    title(bad_arguments),
    Port = cat(),
    Gone = cat(), port_close(Gone), receive {'EXIT', Gone, normal} -> ok end,
    show([begin
              try erlang:apply(erlang, F, A) catch error:R:Stack -> {F, R, proplists:get_value(error_info, element(4, hd(Stack)))} end
          end || {F, A} <- [{trace, [Gone, true, ?FLAGS]}, {trace, [Gone, false, [all]]}, {trace, [Port, true, [foo]]}, {trace, [Port, 'maybe', [ports]]},
                            {trace, [Port, true, ports]}, {trace, [Port, true, [cpu_timestamp]]},
                            {trace, [no_ports, true, []]}, {trace, [Port, true, []]}, {trace, [Port, false, []]},
                            {trace_info, [Port, traced]}, {trace_info, [Gone, traced]}, {trace_info, [Gone, flags]}, {trace_info, [existing_ports, flags]},
                            {trace_info, [new_ports, all]}, {trace_delivered, [Port]}]]),
    port_close(Port), ended(Port).

cat() -> open_port({spawn, "cat"}, [binary]).
traced(Port) -> 1 = erlang:trace(Port, true, ?FLAGS), Port.
got(Port) -> receive {Port, M} -> show(M) end.
%% What has been asked of the port before has been done.
sync(Port) -> erlang:port_info(Port, connected), events().
sync_quietly(Port) -> erlang:port_info(Port, connected), delivered().
ended(Port) -> receive {'EXIT', Port, R} -> show(R) end, gone(Port), events().
gone(Port) -> wait_for(fun() -> erlang:port_info(Port) =:= undefined end).
wait_for(F) -> F() orelse begin erlang:yield(), wait_for(F) end.
delivered() -> D = erlang:trace_delivered(all), receive {trace_delivered, all, D} -> ok end.
events() -> delivered(), [io:format("    ~p~n", [plain(E)]) || E <- raw_events(), not is_of_driver(E)], ok.
raw_events() ->
    receive E when element(1, E) =:= trace; element(1, E) =:= trace_ts -> [E | raw_events()] after 0 -> [] end.
is_of_driver({trace, _, 'receive', {_, {control, {N, _}}}}) -> N > 255;
is_of_driver({trace, _, send, {_, {control, _}}, _}) -> true;
is_of_driver(_) -> false.
title(T) -> io:format("~p~n", [T]).
show(T) -> io:format("  ~p~n", [plain(T)]).
plain(Pid) when is_pid(Pid) -> if Pid =:= self() -> self; true -> pid end;
plain(Port) when is_port(Port) -> port;
plain(R) when is_reference(R) -> ref;
plain([H | T]) -> [plain(H) | plain(T)];
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain(T) -> T.
