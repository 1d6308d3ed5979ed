%% What programs see of nodes, told as text that must be the same whatever runs on either side; and a storm of links,
%% monitors, spawns and losses of the connection between two.
-module(nodes).
-export([serve/0, alone/0, pair/1, storm/2, peers/0, ticks/2, restarts/1, late/0]).
-export([echo/0, worker/0]).

say(What, Result) -> io:format("~s: ~p~n", [What, Result]).

within(Time, Pick) ->
    receive Message -> Pick(Message) after Time -> none end.

all() -> receive Message -> [Message | all()] after 300 -> [] end.

host() -> tl(lists:dropwhile(fun(C) -> C =/= $@ end, atom_to_list(node()))).
at_host(Name) -> list_to_atom(Name ++ "@" ++ host()).

%% ---- the other side ---------------------------------------------------------------------------

serve() ->
    register(echo, spawn(fun echo/0)),
    io:format("ready~n"),
    timer:sleep(infinity).

echo() -> receive {From, Message} -> From ! {self(), Message}, echo(); stop -> ok end.

worker() ->
    receive
        {die, Reason} -> exit(Reason);
        {link, Pid} -> link(Pid), worker();
        {unlink, Pid, From} -> unlink(Pid), From ! unlinked, worker();
        {get, From} ->
            From ! {ties, [element(2, process_info(self(), Item)) || Item <- [links, monitors, monitored_by]]},
            worker();
        {exit, Pid, Reason} -> exit(Pid, Reason), worker();
        {monitor, Pid, From} ->
            Ref = monitor(process, Pid),
            receive {'DOWN', Ref, process, Seen, Reason} -> From ! {saw, Seen =:= Pid, Reason} end,
            worker();
        {trap, From} -> process_flag(trap_exit, true), From ! trapping, worker();
        {'EXIT', _, _} = Exit -> put(last, Exit), worker();
        {last, From} -> From ! {last, get(last)}, worker()
    end.

%% ---- a node that comes alive, with nobody else ------------------------------------------------

alone() ->
    Self = self(),
    Before = {Self, make_ref(), term_to_binary(Self)},
    say("not alive", {node(), is_alive(), erts_internal:get_creation(), erlang:get_cookie()}),
    ok = net_kernel:monitor_nodes(true),
    ok = net_kernel:monitor_nodes(true, [{node_type, all}, nodedown_reason]),
    ok = net_kernel:monitor_nodes(true, #{connection_id => true}),
    [say("setnode", catch erlang:setnode(Name, Creation)) || {Name, Creation} <- [{foo, 1}, {foo@bar, -1}, {foo@bar, 1}]],
    say("monitor when not alive", catch monitor_node(foo@bar, true)),
    Name = "alone" ++ os:getpid(),
    {ok, _} = net_kernel:start([list_to_atom(Name), shortnames]),
    say("alive", {is_alive(), node() =:= at_host(Name), is_integer(erts_internal:get_creation())}),
    say("told", [case M of {What, N} -> {What, N =:= node()}; {What, N, Info} -> {What, N =:= node(), Info} end || M <- all()]),
    {Self, Ref, Bytes} = Before,
    say("local", {self() =:= Self, node(Self) =:= node(), node(Ref) =:= node()}),
    Old = binary_to_term(Bytes),
    say("of the life before", {Old =:= Self, node(Old), Old < Self, lists:sort([Old, Self]) =:= [Old, Self]}),
    say("there and back", binary_to_term(term_to_binary({Self, Ref})) =:= {Self, Ref}),
    Nobody = at_host("nosuch"),
    say("ping", {net_adm:ping(Nobody), net_adm:ping(node())}),
    say("send", {{x, Nobody} ! hello, {x, node()} ! hello}),
    Down = fun(Target) ->
                   M = monitor(process, Target),
                   receive {'DOWN', M, process, {x, _}, Reason} -> Reason after 8000 -> none end
           end,
    say("monitor", {Down({x, Nobody}), Down({x, node()})}),
    say("monitor_node", {monitor_node(Nobody, true), within(8000, fun({nodedown, N}) -> N =:= Nobody end)}),
    register(me, self()),
    {me, node()} ! hello,
    say("to a name here", within(100, fun(M) -> M end)),
    {_, SpawnRef} = spawn_monitor(Nobody, erlang, self, []),
    say("spawn", receive {'DOWN', SpawnRef, _, _, Why} -> Why after 8000 -> none end),
    say("rpc", {rpc:call(Nobody, erlang, node, []), rpc:call(node(), erlang, is_alive, [])}),
    say("connect", {net_kernel:connect_node(Nobody), erlang:disconnect_node(Nobody)}),
    say("cookie", {erlang:set_cookie(node(), abc), erlang:get_cookie()}),
    PidHere = term_to_binary(Self),
    all(),
    say("stop", {net_kernel:stop(), node(), is_alive()}),
    say("told", [case M of {What, _} -> What; {What, _, Info} -> {What, Info} end || M <- all()]),
    Foreign = binary_to_term(PidHere),
    say("of the life before", {Foreign =:= Self, node(Foreign) =:= node(), Foreign ! x, is_process_alive(Self)}),
    say("flags", {catch net_kernel:monitor_nodes(false), catch process_flag({monitor_nodes, #{a => b}}, true)}),
    halt().

%% ---- two nodes --------------------------------------------------------------------------------

pair(Name) ->
    N = at_host(Name),
    process_flag(trap_exit, true),
    say("connected", {net_adm:ping(N), nodes() =:= [N], nodes(hidden), nodes(connected) =:= [N], lists:sort(nodes([this, visible])) =:= lists:sort([node(), N])}),
    {echo, N} ! {self(), hello},
    say("to a name", within(2000, fun({From, M}) -> {node(From) =:= N, M} end)),
    Echo = rpc:call(N, erlang, whereis, [echo]),
    Ref = make_ref(),
    Fun = fun(X) -> {X, node()} end,
    Terms = [1, -5, 1 bsl 80, -(1 bsl 300), 2.5, -0.0, <<"bytes">>, <<5:3>>, "text", 'atom \x{e5}\x{3bb}', #{a => 1}, [x | y], {}, [],
             Ref, self(), Echo, fun lists:map/2, Fun, lists:seq(1, 1000), maps:from_list([{I, I} || I <- lists:seq(1, 100)]),
             binary:copy(<<"large">>, 20000), lists:duplicate(100000, 7)],
    say("terms", [begin Echo ! {self(), T}, within(3000, fun({From, Back}) -> {From =:= Echo, Back =:= T} end) end || T <- Terms]),
    as_text(N, Echo),
    ties(N, Echo),
    spawning(N),
    say("calls", {erpc:call(N, erlang, node, []) =:= N, element(2, catch erpc:call(N, erlang, error, [foo]))}),
    say("many calls", erpc:multicall([N, node()], erlang, is_alive, [])),
    say("gen_server", element(1, element(2, catch gen_server:call({nosuch, N}, nonsense, 500)))),
    Alias = alias(),
    spawn(N, fun() -> Alias ! {via, alias} end),
    say("alias", within(2000, fun(M) -> M end)),
    unalias(Alias),
    spawn(N, fun() -> Alias ! {via, alias} end),
    say("no alias", within(300, fun(M) -> M end)),
    spawn(N, fun() -> io:format("printed by the other node~n") end),
    timer:sleep(200),
    Self = self(),
    spawn(N, fun() -> Self ! {leader, group_leader()} end),
    say("group leader", within(2000, fun({leader, L}) -> L =:= group_leader() end)),
    say("not of another node", [try F() catch error:Why -> Why end || F <- [fun() -> is_process_alive(Echo) end, fun() -> process_info(Echo) end, fun() -> link(hd(rpc:call(N, erlang, ports, []))) end]]),
    global:sync(),
    say("global", {global:register_name(main, self()), rpc:call(N, global, whereis_name, [main]) =:= self()}),
    [Echo ! {self(), I} || I <- lists:seq(1, 20000)],
    say("in order", [receive {Echo, I} -> I after 5000 -> lost end || I <- lists:seq(1, 20000)] =:= lists:seq(1, 20000)),
    say("send/3", [erlang:send(Echo, {self(), x}, Options) || Options <- [[], [nosuspend], [noconnect], [nosuspend, noconnect]]]),
    all(),
    loss(N, Echo).

%% Texts of pids, ports and references are read again for a node that is connected.
as_text(N, Echo) ->
    Port = hd(rpc:call(N, erlang, ports, [])),
    Ref = rpc:call(N, erlang, make_ref, []),
    Again = fun(From) -> {list_to_pid(pid_to_list(From(Echo))) =:= Echo, list_to_port(port_to_list(From(Port))) =:= Port,
                          list_to_ref(ref_to_list(From(Ref))) =:= Ref} end,
    say("as text", Again(fun(Term) -> Term end)),
    [Number | _] = string:lexemes(tl(pid_to_list(Echo)), "."),
    Read = fun(Function, Text) -> try erlang:Function(Text) of Term -> node(Term) =:= N catch error:Why -> Why end end,
    say("texts of that node", [Read(F, lists:flatten(io_lib:format(T, [Number])))
                               || {F, T} <- [{list_to_pid, "<~s.4000000000.7>"}, {list_to_pid, "<~s.7>"}, {list_to_pid, "<~s.7.7> "},
                                             {list_to_port, "#Port<~s.100000000000>"}, {list_to_port, "#Port<~s>"},
                                             {list_to_ref, "#Ref<~s.1>"}, {list_to_ref, "#Ref<~s.1.2.3.4.5>"},
                                             {list_to_ref, "#Ref<~s.1.2.3.4.5.6>"}, {list_to_ref, "#Ref<~s.4294967296>"},
                                             {list_to_ref, "#Ref<~s>"}]]),
    say("texts of no node", [Read(F, T) || {F, T} <- [{list_to_pid, "<4000000000.1.1>"}, {list_to_port, "#Port<4000000000.1>"},
                                                      {list_to_ref, "#Ref<1.1.1.1>"}, {list_to_ref, "#Ref<0.1.1>"},
                                                      {list_to_pid, "<0.268435456.0>"}, {list_to_pid, "<>"}]]).

ties(N, _Echo) ->
    Down = fun(Target, Act) ->
                   R = monitor(process, Target),
                   Act(),
                   receive {'DOWN', R, process, Seen, Reason} -> {Seen =:= Target, Reason} after 2000 -> none end
           end,
    A = spawn(N, nodes, worker, []),
    say("down", Down(A, fun() -> A ! {die, because} end)),
    say("noproc", {Down(A, fun() -> ok end), Down({nobody, N}, fun() -> ok end)}),
    B = spawn_link(N, nodes, worker, []),
    B ! {die, linked},
    say("exit", within(2000, fun({'EXIT', P, R}) -> {P =:= B, R} end)),
    link(B),
    say("link to nobody", within(2000, fun({'EXIT', P, R}) -> {P =:= B, R} end)),
    {C, CRef} = spawn_monitor(N, nodes, worker, []),
    exit(C, kill),
    say("kill", receive {'DOWN', CRef, process, C, Killed} -> Killed after 2000 -> none end),
    W = spawn(N, nodes, worker, []),
    Get = fun() -> W ! {get, self()}, receive {ties, T} -> [[case P of {process, Q} -> Q =:= self(); Q -> Q =:= self() end || P <- L] || L <- T] after 2000 -> none end end,
    link(W), unlink(W),
    say("unlinked", Get()),
    link(W),
    say("linked", {Get(), lists:member(W, element(2, process_info(self(), links)))}),
    W ! {unlink, self(), self()},
    say("unlinked there", {within(2000, fun(M) -> M end), Get(), lists:member(W, element(2, process_info(self(), links)))}),
    R = monitor(process, W),
    say("monitored", {Get(), element(2, process_info(self(), monitors)) =:= [{process, W}]}),
    demonitor(R),
    say("not monitored", {Get(), element(2, process_info(self(), monitors))}),
    Here = spawn(fun() -> receive {die, Reason} -> exit(Reason) end end),
    W ! {monitor, Here, self()}, timer:sleep(100), Here ! {die, here},
    say("seen there", within(2000, fun(M) -> M end)),
    W ! {monitor, Here, self()},
    say("seen there too late", within(2000, fun(M) -> M end)),
    Victim = spawn(fun() -> receive never -> ok end end),
    say("exit from there", Down(Victim, fun() -> W ! {exit, Victim, thrown} end)),
    W ! {trap, self()},
    trapping = within(2000, fun(M) -> M end),
    Linked = spawn(fun() -> receive {die, Reason} -> exit(Reason) end end),
    W ! {link, Linked}, timer:sleep(100), Linked ! {die, {some, reason}}, timer:sleep(100), W ! {last, self()},
    say("trapped there", within(2000, fun({last, {'EXIT', P, Why}}) -> {P =:= Linked, Why} end)).

spawning(N) ->
    Reply = fun(Ref, Tag) -> receive {Tag, Ref, Result, Value} -> {Result, Value} after 2000 -> none end end,
    NoReply = fun(Ref, Tag) -> receive {Tag, Ref, Result, Value} -> {Result, Value} after 200 -> none end end,
    R1 = spawn_request(N, nodes, worker, [], [{reply_tag, tag}, monitor, link]),
    {ok, P1} = Reply(R1, tag),
    P1 ! {die, asked},
    say("asked for", [receive {'DOWN', R1, _, P1, W1} -> W1 after 2000 -> none end, receive {'EXIT', P1, W2} -> W2 after 2000 -> none end]),
    say("wrong options", [begin R = spawn_request(N, nodes, worker, [], O), Reply(R, spawn_reply) end || O <- [[{bad, opt}], [{priority, none}]]]),
    R2 = spawn_request(N, nodes, worker, [], [{reply, no}, {monitor, [{tag, mine}]}]),
    R3 = spawn_request(N, nodes, worker, [], [{reply, error_only}]),
    say("no reply", {NoReply(R2, spawn_reply), NoReply(R3, spawn_reply)}),
    R4 = spawn_request(N, nodes, worker, [], [link]),
    say("abandoned", {spawn_request_abandon(R4), spawn_request_abandon(make_ref()), NoReply(R4, spawn_reply)}),
    {P5, R5} = spawn_opt(N, nodes, worker, [], [{monitor, [{tag, mine}, {alias, demonitor}]}, {priority, high}]),
    P5 ! {die, tagged},
    say("tagged", receive {mine, R5, process, P5, W5} -> W5 after 2000 -> none end),
    {_, R6} = spawn_monitor(N, nosuch, function, [a]),
    say("undefined", receive {'DOWN', R6, _, _, {undef, [{M6, F6, A6, _} | _]}} -> {M6, F6, A6} after 2000 -> none end),
    all().

loss(N, Echo) ->
    ok = net_kernel:monitor_nodes(true, [nodedown_reason]),
    Times = [monitor_node(N, true), monitor_node(N, true), monitor_node(N, false)],
    L = spawn_link(N, nodes, worker, []),
    R = monitor(process, {echo, N}),
    R2 = monitor(process, Echo),
    say("disconnect", {Times, erlang:disconnect_node(N)}),
    say("exit", receive {'EXIT', L, Why} -> Why after 3000 -> none end),
    say("down", [receive {'DOWN', Ref, process, T, W} -> {T =:= Echo, W} after 3000 -> none end || Ref <- [R, R2]]),
    say("nodedown", [receive {nodedown, N} -> down after 1000 -> none end || _ <- [1, 2]]),
    say("nodedown", receive {nodedown, N, Info} -> Info after 3000 -> none end),
    all(),
    say("again", {net_adm:ping(N), nodes() =:= [N]}),
    say("nodeup", receive {nodeup, N, Up} -> Up after 3000 -> none end),
    L2 = spawn_link(N, nodes, worker, []),
    rpc:cast(N, erlang, halt, [0]),
    say("the end of the other", receive {'EXIT', L2, Why2} -> Why2 after 3000 -> none end),
    say("nodedown", receive {nodedown, N, Info2} -> Info2 after 3000 -> none end),
    say("nodes", nodes()),
    say("text of a lost node", try list_to_pid(pid_to_list(Echo)) catch error:Why3 -> Why3 end),
    halt().

%% ---- nodes that this one starts ---------------------------------------------------------------

peers() ->
    {ok, P, N} = peer:start_link(#{name => peer:random_name(), args => ["-setcookie", atom_to_list(erlang:get_cookie())]}),
    say("peer", {is_pid(P), net_adm:ping(N), rpc:call(N, erlang, is_alive, [])}),
    say("same machine", rpc:call(N, erlang, system_info, [system_version]) =:= erlang:system_info(system_version)),
    peer:stop(P),
    {ok, P2, N2} = peer:start_link(#{connection => standard_io}),
    say("over standard io", {N2, peer:call(P2, erlang, node, [])}),
    peer:stop(P2),
    halt().

%% ---- silence ----------------------------------------------------------------------------------

%% With -kernel net_ticktime 1: a connection that nobody uses stays; one whose other side stands still goes.
ticks(Name, OsPid) ->
    N = at_host(Name),
    pong = net_adm:ping(N),
    ok = net_kernel:monitor_nodes(true, [nodedown_reason]),
    say("silence", receive {nodedown, N, Why} -> Why after 3000 -> nodes() =:= [N] end),
    os:cmd("kill -STOP " ++ OsPid),
    say("stands still", receive {nodedown, N, Why2} -> Why2 after 10000 -> none end),
    os:cmd("kill -CONT " ++ OsPid),
    pong = again(N, 50),
    rpc:cast(N, erlang, halt, [0]),
    timer:sleep(200),
    halt().

%% ---- restarts ---------------------------------------------------------------------------------

%% What a node says to the last is understood, and errors are told on standard output.
restarts(Name) ->
    logger:set_primary_config(level, error),
    register(watched, self()),
    restarts(at_host(Name), 4).

watch(Whom) -> demonitor(monitor(process, Whom)), watch(Whom).

restarts(N, Times) ->
    pong = again(N, 400),
    if
        Times =:= 0 ->
            rpc:cast(N, erlang, halt, [0]),
            io:format("ok~n"),
            halt();
        true ->
            Me = {watched, node()},
            spawn(N, fun() -> watch(Me) end),
            monitor_node(N, true),
            Answer = rpc:call(N, init, restart, []),
            true = lists:member(Answer, [ok, {badrpc, nodedown}]),
            receive {nodedown, N} -> restarts(N, Times - 1) end
    end.

%% ---- a connection that ends while its last packet is being handled ------------------------------

%% The next one is another, and can be given up: net_kernel asks for it as soon as it is told of the end.
late() ->
    io:format("~p ~s~n", [{began, [1]}, "x"]),  % loads what prints: loading would wait for the packet
    Node = list_to_atom("nobody@nowhere"),
    Self = self(),
    {Number, _} = erts_internal:new_connection(Node),
    {erts_dflags, Flags, _, _, _, _} = erts_internal:get_dflags(),
    Packet = [<<112>>, term_to_binary({2, '', Self}), term_to_binary(lists:seq(1, 3000000))],
    {Controller, Monitor} = spawn_monitor(
        fun() ->
            {ok, Handle} = erts_internal:create_dist_channel(Node, self(), {Flags, 77}),
            Gives = spawn(fun() -> receive go -> erlang:dist_ctrl_put_data(Handle, Packet) end end),
            ok = erlang:dist_ctrl_input_handler(Handle, Gives),
            Self ! {up, Gives},
            receive never -> ok end
        end),
    receive {up, Gives} -> Gives ! go end,
    work_until(erlang:monotonic_time(millisecond) + 20),
    exit(Controller, kill),
    receive {'DOWN', Monitor, process, _, killed} -> ok end,
    {Next, _} = Handle = erts_internal:new_connection(Node),
    io:format("~p~n", [{Next - Number, erts_internal:abort_pending_connection(Node, Handle)}]),
    halt().

work_until(Time) ->
    case erlang:monotonic_time(millisecond) < Time of
        true -> work_until(Time);
        false -> ok
    end.

%% ---- a storm ----------------------------------------------------------------------------------

%% Processes here that are tied to processes there and back, at random, while the connection is cut now and then.
%% Whatever happens, each monitor gives one message, each link one exit, and nothing is left behind.
storm(Name, Seed) ->
    rand:seed(exsss, Seed),
    N = at_host(Name),
    pong = net_adm:ping(N),
    Before = length(processes()),
    Workers = [spawn_monitor(fun() -> rand:seed(exsss, Seed + I), toil(N, 60) end) || I <- lists:seq(1, 40)],
    Cutter = spawn(fun() -> rand:seed(exsss, -Seed), cut(N) end),
    Ends = [receive {'DOWN', R, process, P, Reason} -> Reason after 60000 -> {stuck, process_info(P)} end || {P, R} <- Workers],
    exit(Cutter, kill),
    [] = [E || E <- Ends, E =/= normal],
    pong = again(N, 50),
    settle(Before, 100),
    [] = [M || M <- all(), not is_tuple(M) orelse element(1, M) =/= nodedown],
    rpc:cast(N, erlang, halt, [0]),
    io:format("ok~n"),
    halt().

again(N, Times) ->
    case net_adm:ping(N) of
        pang when Times > 0 -> timer:sleep(50), again(N, Times - 1);
        Answer -> Answer
    end.

settle(Before, 0) -> exit({left_behind, length(processes()) - Before});
settle(Before, Times) ->
    case length(processes()) =< Before + 2 of
        true -> ok;
        false -> timer:sleep(50), settle(Before, Times - 1)
    end.

cut(N) ->
    timer:sleep(20 + rand:uniform(60)),
    erlang:disconnect_node(N),
    cut(N).

toil(_, 0) -> ok;
toil(N, Left) ->
    process_flag(trap_exit, true),
    case rand:uniform(6) of
        1 -> one_down(monitor(process, {echo, N}));
        2 ->
            case catch spawn_monitor(N, nodes, worker, []) of
                {P, R} -> P ! {die, over}, one_down(R);
                _ -> ok
            end;
        3 ->
            P = spawn_link(N, nodes, worker, []),
            P ! {die, over},
            receive {'EXIT', P, _} -> ok after 20000 -> exit({no_exit, P}) end,
            receive {'EXIT', P, _} = Twice -> exit({twice, Twice}) after 0 -> ok end;
        4 ->
            P = spawn(N, nodes, worker, []),
            link(P), unlink(P), receive {'EXIT', P, _} -> ok after 0 -> ok end,
            P ! {die, over};
        5 ->
            Self = self(),
            spawn(N, fun() -> Self ! {from, there} end),
            receive {from, there} -> ok after rand:uniform(50) -> ok end;
        6 ->
            R = spawn_request(N, nodes, worker, [], [monitor, link]),
            receive
                {spawn_reply, R, ok, P} ->
                    P ! {die, over},
                    one_down(R),
                    receive {'EXIT', P, _} -> ok after 20000 -> exit({no_exit, P}) end;
                {spawn_reply, R, error, noconnection} -> ok
            after 20000 -> exit(no_reply)
            end
    end,
    flush(),
    toil(N, Left - 1).

one_down(R) ->
    case rand:uniform(2) of
        1 ->
            demonitor(R, [flush]),
            receive {'DOWN', R, _, _, _} = Late -> exit({late, Late}) after 0 -> ok end;
        2 ->
            receive {'DOWN', R, _, {echo, _}, noconnection} -> ok; {'DOWN', R, _, P, _} when is_pid(P) -> ok
            after 200 -> demonitor(R, [flush])
            end,
            receive {'DOWN', R, _, _, _} = Twice -> exit({twice, Twice}) after 0 -> ok end
    end.

flush() -> receive {from, there} -> flush(); {'EXIT', _, _} -> flush() after 0 -> ok end.
