%% OTP's dbg: tracer, p, tp, tpl, tpe, ctp, fun2ms, i, wtp, its text, stop.
-module(trace_dbg).
-export([main/1, fact/1, f/1, g/1, loop/0, boom/1]).
-include_lib("stdlib/include/ms_transform.hrl").

fact(0) -> 1;
fact(N) -> N * fact(N - 1).
f(X) -> g(X) + 1.
g(X) -> X * 2.
boom(X) -> error({boom, X}).
loop() -> receive {call, F, From} -> From ! {res, catch F()}, ?MODULE:loop(); stop -> ok end.

call(P, F) -> P ! {call, F, self()}, receive {res, R} -> R end.

p(X) -> io:format("~p~n", [X]).

main(_) ->
    Me = self(),
    P = spawn(?MODULE, loop, []),
    {ok, _} = dbg:tracer(process, {fun(M, N) -> Me ! {traced, N, M}, N + 1 end, 0}),
    {ok, T} = dbg:get_tracer(),
    p(is_pid(T)),
    p(setelement(2, dbg:tracer(), x)),
    P2 = fun(R) -> p(mask(P, R)) end,
    P2(dbg:p(P, [c])),
    P2(dbg:tpl(?MODULE, fact, 1, [])),
    call(P, fun() -> fact(3) end), show(P),
    P2(dbg:tpl(?MODULE, f, 1, dbg:fun2ms(fun([X]) when X > 2 -> return_trace(), message({big, X}) end))),
    P2(dbg:tpl(?MODULE, g, cx)),
    call(P, fun() -> f(1) + f(3) end), show(P),
    P2(dbg:tpl(?MODULE, boom, 1, x)),
    call(P, fun() -> boom(1) end), show(P),
    P2(dbg:ltp()),
    P2(dbg:dtp()),
    P2(dbg:wtp("trace_dbg.ms")),
    P2(dbg:rtp("trace_dbg.ms")),
    file:delete("trace_dbg.ms"),
    P2(dbg:ctpl(?MODULE, g)),
    P2(dbg:ctpl(?MODULE)),
    {ok, [{matched, _, All}]} = dbg:ctp(),
    p(All > 1000),
    call(P, fun() -> f(3) end), show(P),
    P2(dbg:tp(lists, seq, 2, c)),
    P2(dbg:tp({lists, reverse, '_'}, [])),
    call(P, fun() -> lists:reverse(lists:seq(1, 3)) end), show(P),
    P2(dbg:ctp(lists)),
    P2(dbg:p(P, [m, p])),
    call(P, fun() -> self() ! hej, receive hej -> ok end, register(trace_dbg_name, self()), unregister(trace_dbg_name) end),
    show(P),
    P2(dbg:tpe(send, [{['_', {res, '_'}], [], []}])),
    P2(dbg:tpe('receive', false)),
    call(P, fun() -> self() ! hej, receive hej -> hej end end), show(P),
    P2(dbg:ctpe(send)), P2(dbg:ctpe('receive')),
    P2(dbg:p(P, clear)),
    call(P, fun() -> self() ! hej, receive hej -> hej end end), show(P),
    P2(dbg:p(nobody_here, c)),
    P2(dbg:p(P, [nonsense])),
    P2(dbg:tp(no_module_here, x, 1, [])),
    P2(dbg:tp({?MODULE, f, 1}, [{bad}])),
    P2(dbg:p(new, [c, sos, timestamp])),
    P2(dbg:tpl(?MODULE, g, 1, c)),
    R1 = spawn_monitor(fun() -> g(17) end),
    receive {'DOWN', _, _, _, _} -> ok end,
    p(is_tuple(R1)), show(element(1, R1)),
    P2(dbg:p(all, clear) =/= {ok, []}),
    dbg:i(),
    MRef = monitor(process, T),
    P2(catch dbg:stop()),
    receive {'DOWN', MRef, _, _, _} -> p(tracer_down) after 1000 -> p(tracer_alive) end,
    dbg_text(P),
    dbg_file(P),
    P ! stop.

%% The text that dbg's own handler prints.
dbg_text(P) ->
    Self = self(),
    Device = spawn(fun() -> leader(Self) end),
    {ok, _} = dbg:tracer(process, {fun(M, D) -> dbg:dhandler(M, D) end, Device}),
    {ok, _} = dbg:p(P, [c, m, return_to]),
    {ok, _} = dbg:tpl(?MODULE, f, 1, cx),
    call(P, fun() -> f(5) end),
    timer:sleep(100),
    dbg:stop(),
    Device ! {get, self()},
    receive {text, Text} -> io:put_chars(mask_text(P, Text)) end.

mask_text(P, Text) ->
    One = lists:flatten(string:replace(Text, pid_to_list(P), "<tracee>", all)),
    Two = re:replace(One, "<[0-9]+\\.[0-9]+\\.[0-9]+>", "<pid>", [global, {return, list}]),
    re:replace(Two, "Fun<[^>]*>", "Fun<>", [global, {return, list}]).

leader(Owner) -> leader(Owner, []).
leader(Owner, Acc) ->
    receive
        {io_request, From, Ref, {put_chars, _, M, F, A}} ->
            From ! {io_reply, Ref, ok}, leader(Owner, [apply(M, F, A) | Acc]);
        {io_request, From, Ref, {put_chars, _, C}} ->
            From ! {io_reply, Ref, ok}, leader(Owner, [C | Acc]);
        {io_request, From, Ref, _} ->
            From ! {io_reply, Ref, {error, request}}, leader(Owner, Acc);
        {get, Who} -> Who ! {text, unicode:characters_to_list(lists:reverse(Acc))}
    end.

%% A file, and files in turn, that a port writes.
dbg_file(P) ->
    Self = self(),
    [begin
        {ok, _} = dbg:tracer(port, dbg:trace_port(file, Spec)),
        {ok, _} = dbg:p(P, [c]),
        {ok, _} = dbg:tpl(?MODULE, f, 1, x),
        [call(P, fun() -> f(N) end) || N <- lists:seq(1, 7)],
        p(dbg:flush_trace_port()),
        p(dbg:stop()),
        C = dbg:trace_client(file, Spec,
                             {fun(end_of_trace, N) -> Self ! {traced, N, done}, N + 1;
                                 (M, N) -> Self ! {traced, N, M}, N + 1 end, 0}),
        p(is_pid(C)),
        show(P),
        Files = lists:sort(filelib:wildcard("trace_dbg.log*")),
        p(length(Files)),
        [file:delete(F) || F <- Files]
     end || Spec <- ["trace_dbg.log", {"trace_dbg.log.", wrap, ".part", 400, 3}]],
    p(try (dbg:trace_port(file, "/no/such/directory/x.log"))() catch error:E -> E end).

show(P) ->
    receive {traced, N, M} -> io:format("~p ~p~n", [N, mask(P, M)]), show(P)
    after 150 -> io:format("--~n") end.

mask(P, P) -> tracee;
mask(_, Pid) when Pid =:= self() -> main;
mask(_, Pid) when is_pid(Pid) -> pid;
mask(_, Ref) when is_reference(Ref) -> ref;
mask(_, Port) when is_port(Port) -> port;
mask(_, {A, B, C}) when is_integer(A), A > 1000, is_integer(B), is_integer(C) -> ts;
mask(P, T) when is_tuple(T) -> list_to_tuple([mask(P, E) || E <- tuple_to_list(T)]);
mask(P, [H | T]) -> [mask(P, H) | mask(P, T)];
mask(_, F) when is_function(F) -> a_fun;
mask(_, X) -> X.
