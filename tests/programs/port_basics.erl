%% Ports that start programs: what they send, how they end, what their options do.
-module(port_basics).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    p(missing, c(fun() -> open_port({spawn_executable, "/nonexistent"}, []) end)),
    p(not_executable, c(fun() -> open_port({spawn_executable, "/etc/passwd"}, []) end)),
    run(no_such_command, {spawn, "nonexistingcmd a b 2>/dev/null"}, [exit_status]),
    run(status, {spawn, "sh -c 'echo hi; exit 3'"}, [exit_status]),
    run(eof, {spawn, "echo hi"}, [eof]),
    run(neither, {spawn, "echo hi"}, []),
    run(both, {spawn, "sh -c 'exit 7'"}, [exit_status, eof]),
    run(killed, {spawn, "sh -c 'kill -9 $$'"}, [exit_status]),
    run(atom, {spawn, true}, [eof]),
    run(directory, {spawn_executable, "/tmp"}, [exit_status]),
    run(line, {spawn, "printf 'ab\\ncdefg\\nxyz\\n\\n\\rq\\r\\nlmn\\r\\nopq\\rs\\nu'"},
        [{line, 3}, eof]),
    run(line_binary, {spawn, "printf 'ab\\r\\ncdefg\\nxy\\r'"}, [{line, 3}, eof, binary]),
    run(line_default, {spawn, "printf 'ab\\ncd'"}, [line, eof]),
    run(packet1, {spawn, "printf '\\003abc\\000\\001x'"}, [{packet, 1}, eof]),
    run(packet2, {spawn, "printf '\\000\\003abc\\000\\001x'"}, [{packet, 2}, eof]),
    run(packet4, {spawn, "printf '\\000\\000\\000\\003abc\\000\\000\\000\\001x'"},
        [{packet, 4}, eof, binary]),
    run(packet_cut, {spawn, "printf '\\000\\003abc\\000\\005x'"}, [{packet, 2}, eof]),
    run(args, {spawn_executable, "/bin/echo"}, [{args, ["a b", <<"c">>, "*"]}, eof]),
    run(arg0, {spawn_executable, "/bin/sh"}, [{arg0, "foo"}, {args, ["-c", "echo $0"]}, eof]),
    run(cd, {spawn, "pwd"}, [{cd, "/tmp"}, eof]),
    run(cd_missing, {spawn, "pwd"}, [{cd, "/nonexistent"}, exit_status]),
    run(env, {spawn, "echo $FOO $HOME."}, [{env, [{"FOO", "x"}, {"HOME", false}]}, eof]),
    run(stderr, {spawn, "sh -c 'echo out; echo err >&2'"}, [stderr_to_stdout, eof]),
    run(files_3_and_4, {spawn, "sh -c 'echo out >&4'"}, [nouse_stdio, eof]),
    run(only_in, {spawn, "cat"}, [in, eof]),
    owner(),
    connect_by_message(),
    output(),
    badopts(),
    io:format("~p~n", [os:cmd("echo hello; echo err >&2; exit 2")]),
    io:format("~p~n", [os:cmd("cat")]),
    io:format("~p~n", [length(os:cmd("yes abcdefg | head -n 30000"))]),
    p(ports_left, [P || P <- erlang:ports(), {name, "cat"} =:= erlang:port_info(P, name)]).

c(F) -> try F() catch C:R -> {C, R} end.

%% What comes, with the pieces of a stream put together.
run(Name, Command, Options) ->
    Port = c(fun() -> open_port(Command, Options) end),
    p(Name, joined(until_end(Port))).

until_end(Port) when is_port(Port) ->
    receive
        {Port, eof} -> [eof | rest(Port)];
        {'EXIT', Port, Why} -> [{exit, Why}];
        {Port, M} -> [M | until_end(Port)]
    after 5000 -> [timeout]
    end;
until_end(Other) ->
    [Other].

rest(Port) ->
    true = port_close(Port),
    receive {'EXIT', Port, normal} -> [] after 5000 -> [no_exit] end.

joined([{data, A}, {data, B} | Rest]) when is_integer(hd(A)), is_integer(hd(B)) ->
    joined([{data, A ++ B} | Rest]);
joined([H | T]) -> [H | joined(T)];
joined([]) -> [].

p(What, Value) -> io:format("~p: ~p~n", [What, Value]).

flush(Port) ->
    receive M -> [norm(Port, M) | flush(Port)] after 200 -> [] end.

norm(P, P) -> port;
norm(_, T) when is_reference(T) -> ref;
norm(_, T) when T =:= self() -> self;
norm(P, T) when is_tuple(T) -> list_to_tuple([norm(P, X) || X <- tuple_to_list(T)]);
norm(_, T) -> T.

%% Who owns a port, who may use it, names, links, monitors, ends.
owner() ->
    P = open_port({spawn, "cat"}, []),
    p(info_keys, [K || {K, _} <- erlang:port_info(P)]),
    [p(K, erlang:port_info(P, K)) || K <- [registered_name, name, input, output, parallelism,
                                           monitors, monitored_by, queue_size, locking]],
    p(owner, {erlang:port_info(P, connected) =:= {connected, self()},
              erlang:port_info(P, links) =:= {links, [self()]},
              lists:member(P, element(2, process_info(self(), links)))}),
    p(bad_item, c(fun() -> erlang:port_info(P, foo) end)),
    p(register, {register(a_port, P), whereis(a_port) =:= P, erlang:port_info(a_port, registered_name),
                 lists:member(a_port, registered()), c(fun() -> register(another, P) end)}),
    p(command, {port_command(a_port, ["ab", <<"c">>]), flush(P)}),
    p(send, {element(1, a_port ! {self(), {command, "xyz"}}) =:= self(), flush(P)}),
    p(counts, {erlang:port_info(P, input), erlang:port_info(P, output)}),
    [p(bad_message, begin P ! M, flush(P) end) || M <- [foo, {self(), foo}, {self(), {connect, a}},
                                                    {hd(processes()), close}]],
    p(data, {erlang:port_get_data(P), erlang:port_set_data(P, {a, "b"}), erlang:port_get_data(P)}),
    p(driver_only, {c(fun() -> port_control(P, 1, "a") end), c(fun() -> erlang:port_call(P, 1, a) end),
                    c(fun() -> port_command(P, "a", [force]) end)}),
    Self = self(),
    Other = spawn(fun() -> receive {P, {data, D}} -> Self ! {other, D} end, receive stop -> ok end end),
    p(connect, {port_connect(P, Other), erlang:port_info(P, connected) =:= {connected, Other},
                length(element(2, erlang:port_info(P, links)))}),
    p(other_gets, {port_command(P, "hello"), flush(P)}),
    unlink(P),
    monitor(port, a_port),
    monitor(port, P),
    p(monitors, {length(element(2, process_info(self(), monitors))),
                 erlang:port_info(P, monitored_by) =:= {monitored_by, [self(), self()]}}),
    Other ! stop,
    p(owner_gone, {lists:sort(flush(P)), erlang:port_info(P), whereis(a_port)}),
    p(closed, {c(fun() -> port_command(P, "a") end), c(fun() -> port_close(P) end),
               c(fun() -> port_connect(P, self()) end), c(fun() -> link(P) end), flush(P)}),
    p(late_monitor, begin monitor(port, P), monitor(port, nobody), lists:sort(flush(P)) end),
    p(wrong_type, {c(fun() -> monitor(process, P) end), c(fun() -> monitor(port, self()) end)}),
    P2 = open_port({spawn, "cat"}, []),
    spawn(fun() -> exit(P2, normal) end),
    p(normal_of_another, flush(P2)),
    p(kill, {exit(P2, kill), flush(P2)}),
    P3 = open_port({spawn, "cat"}, []),
    register(again, P3),
    p(close, begin P3 ! {self(), close}, {lists:sort(flush(P3)), whereis(again)} end),
    P4 = open_port({spawn, "cat"}, []),
    p(exit_normal, {exit(P4, normal), flush(P4)}),
    P5 = open_port({spawn, "cat"}, []),
    R = monitor(port, P5),
    p(demonitor, {demonitor(R), port_close(P5), flush(P5)}),
    {Pid, Ref} = spawn_monitor(fun() -> open_port({spawn, "cat"}, [exit_status]) ! foo,
                                        receive after infinity -> ok end end),
    p(not_trapping, receive {'DOWN', Ref, process, Pid, Why} -> Why end).

%% Unlike port_connect/2, the message does not link the new owner, which may be dead.
connect_by_message() ->
    P = open_port({spawn, "cat"}, []),
    Other = spawn(fun() -> receive stop -> ok end end),
    {Dead, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, process, Dead, _} -> ok end,
    p(dead_by_function, {c(fun() -> port_connect(P, Dead) end),
                         erlang:port_info(P, connected) =:= {connected, self()}}),
    p(connect_by_message, {begin P ! {self(), {connect, Other}}, flush(P) end,
                           erlang:port_info(P, connected) =:= {connected, Other},
                           erlang:port_info(P, links) =:= {links, [self()]}}),
    P ! {Other, {connect, Dead}},
    p(dead_by_message, {flush(P), erlang:port_info(P, connected) =:= {connected, Dead},
                        erlang:port_info(P, links) =:= {links, [self()]}}),
    Other ! stop,
    p(closed_by_another, {port_close(P), flush(P)}).

%% The pipe may still take some of it.
settled_queue(P, Before) ->
    case erlang:port_info(P, queue_size) of
        {queue_size, Before} -> Before;
        {queue_size, Now} -> receive after 50 -> settled_queue(P, Now) end
    end.

%% Programs that do not read, or not any more.
output() ->
    P1 = open_port({spawn, "cat"}, [{packet, 1}]),
    p(too_long, {port_command(P1, lists:duplicate(300, $a)), flush(P1)}),
    %% The process of erl that forks holds the other end of the pipe for a moment longer than the program.
    P2 = open_port({spawn, "sh -c 'exec <&- 2>&-; sleep 0.5; echo; sleep 20'"}, []),
    receive {P2, {data, "\n"}} -> ok end,
    p(nobody_reads, {port_command(P2, "aaaa"), receive M -> norm(P2, M) end}),
    P3 = open_port({spawn, "sleep 3"}, [binary]),
    Big = binary:copy(<<"0123456789">>, 20000),
    p(big, port_command(P3, [Big])),
    Queued = settled_queue(P3, none),
    p(queued, Queued > 100000),
    p(nosuspend, {port_command(P3, "a", [nosuspend]), erlang:send_nosuspend(P3, {self(), {command, "a"}}),
                  erlang:send(P3, {self(), {command, "a"}}, [nosuspend])}),
    Self = self(),
    %% Both wait until the program reads.
    Waiting = [spawn_link(fun() -> port_command(P3, "one"), Self ! done end),
               spawn_link(fun() -> P3 ! {Self, {command, "two"}}, Self ! done end)],
    receive after 100 -> ok end,
    p(waiting, [process_info(W, status) || W <- Waiting]),
    p(still, {settled_queue(P3, none) =:= Queued, flush(P3)}),
    port_close(P3),
    p(after_close, lists:sort([X || X <- flush(P3), X =:= done])),
    P4 = open_port({spawn, "cat"}, [binary]),
    [P4 ! {self(), {command, <<N:32, Big/binary>>}} || N <- lists:seq(1, 20)],
    p(everything, {collect(P4, 20 * (4 + byte_size(Big)), 0, []), port_close(P4)}),
    flush(P4).

collect(P, Left, Size, Acc) when Left > 0 ->
    receive {P, {data, D}} -> collect(P, Left - byte_size(D), Size + byte_size(D), [Acc | D]) end;
collect(_, 0, Size, Acc) ->
    {Size, erlang:md5(Acc)}.

badopts() ->
    [p({options, O}, c(fun() -> is_port(open_port({spawn, "true"}, O)) end)) ||
        O <- [[foo], [{packet, 3}], [{line, 0}], [{line, a}], [{packet, 1}, {line, 3}], foo, [{cd, 1}],
              [{env, [{a, b}]}], [{args, ["a"]}], [{arg0, "a"}], [in, out], [{env, [{"A=B", "x"}]}],
              [{busy_limits_port, {1, 2}}], [{parallelism, true}], [{busy_limits_port, disabled}],
              [{busy_limits_msgq, {4096, 8192}}], [in | out], [hide, overlapped_io, use_stdio],
              [stderr_to_stdout, nouse_stdio], [{parallelism, 1}]]],
    [p({name, N}, c(fun() -> is_port(open_port(N, [])) end)) ||
        N <- [{spawn, ""}, {spawn, 1}, {fd, a, b}, {fd, -1, 1}, {spawn_executable, 1}, {spawn_driver, "foo"},
              {spawn_executable, ""}, {spawn, <<"true">>}, {vanilla, "x"}, {spawn}, 1, {fd, 0}]],
    [p({args, A}, c(fun() -> is_port(open_port({spawn_executable, "/bin/true"}, [{args, A}])) end)) ||
        A <- [[], ["a"], [a], a, [1], ["a" | b], [<<"x">>]]],
    exits(flush(x)).

exits(_) -> ok.
