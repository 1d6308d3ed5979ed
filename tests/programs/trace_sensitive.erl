%% Nothing is told of a process while it is sensitive, whatever is traced; its flags stay.
-module(trace_sensitive).
-export([main/1, exported/1, meta/1]).

main(_) ->
    Tracer = spawn_link(fun() -> collect([]) end),
    Sink = spawn_link(fun() -> receive after infinity -> ok end end),
    1 = erlang:trace_pattern({?MODULE, exported, 1}, [{'_', [], [{return_trace}]}], [local]),
    1 = erlang:trace_pattern({?MODULE, meta, 1}, true, [{meta, Tracer}]),
    Traced = spawn_link(fun() -> traced(Sink) end),
    1 = erlang:trace(Traced, true, [send, 'receive', procs, call, return_to, set_on_spawn, {tracer, Tracer}]),
    [begin
         Traced ! {self(), Step},
         receive {Traced, done} -> ok end
     end || Step <- [before, {become, true}, within, {nested, fun() -> within end}, {become, false}, behind]],
    {flags, Flags} = erlang:trace_info(Traced, flags),
    io:format("~p~n", [lists:sort(Flags)]),
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    Tracer ! {self(), stop},
    receive {Tracer, Events} -> [io:format("~p~n", [E]) || E <- shown(Events, Traced)] end.

traced(Sink) ->
    receive
        {From, {become, Sensitive}} ->
            process_flag(sensitive, Sensitive),
            From ! {self(), done};
        {From, Step} ->
            Sink ! {sent, Step},
            exported(Step),
            meta(Step),
            register(trace_sensitive_name, self()),
            unregister(trace_sensitive_name),
            {Child, Ref} = spawn_monitor(fun() -> exported(child) end),
            receive {'DOWN', Ref, process, Child, _} -> ok end,
            From ! {self(), done}
    end,
    traced(Sink).

meta(X) ->
    [X].

exported(X) ->
    {ok, X}.

%% Of each process in order, without pids, references and funs.
shown(Events, Traced) ->
    [plain(E) || E <- Events, element(2, E) =:= Traced] ++
        [plain(E) || E <- Events, element(2, E) =/= Traced].

plain(T) when is_pid(T) -> pid;
plain(T) when is_reference(T) -> ref;
plain(T) when is_function(T) -> function;
plain(T) when is_tuple(T), element(1, T) =:= trace_ts ->
    plain(erlang:delete_element(tuple_size(T), T));
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain([H | T]) -> [plain(H) | plain(T)];
plain(T) -> T.

collect(Events) ->
    receive
        {From, stop} -> From ! {self(), lists:reverse(Events)};
        Event -> collect([Event | Events])
    end.
