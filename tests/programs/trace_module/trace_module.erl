%% Modules as tracers: which of their native functions are called for what, with which arguments and
%% options, and what their answers do.
-module(trace_module).
-export([main/1, f/1, g/1, h/1, fails/1]).

main(_) ->
    [{module, M} = code:ensure_loaded(M) || M <- [lists, maps, prim_file, binary, dbg]],
    [io:format("~p~n~p~n", [Part, part(Part)]) ||
        Part <- [wrong, calls, returns, arity, messages, procs, spawned, running, collections,
                 asked, answers, status, taken, off, sensitive, new, meta, meta_removed, action, seq, dbg,
                 unloaded, collected_state]].

part(wrong) ->
    P = tracee(),
    Wrong = [{tracer, lists, []}, {tracer, 1, []}, {tracer, 1}, {tracer, trace_module_plain}, {tracer},
             {tracer, a, b, c}, {meta, trace_module_plain, []}],
    Patterns = [{meta, lists, []}, {meta, 1, []}, {meta, trace_module_plain}, {meta}, {meta, a, b, c},
                {tracer, trace_module_plain, []}],
    [{T, result(fun() -> erlang:trace(P, true, [call, T]) end)} || T <- Wrong] ++
        [{T, result(fun() -> erlang:trace_pattern({?MODULE, f, 1}, true, [T]) end)} || T <- Patterns] ++
        [{unknown, result(fun() -> erlang:trace(P, true, [{tracer, no_such_module, []}]) end)},
         {unknown, result(fun() -> erlang:trace_pattern({?MODULE, f, 1}, true,
                                                        [{meta, no_such_module, []}]) end)},
         {own, result(fun() -> erlang:trace(P, true, [call, {tracer, erl_tracer, self()}]) end)},
         {own, told(P, erlang:trace_info(P, tracer))}];
part(calls) ->
    P = tracee(),
    1 = erlang:trace_pattern({?MODULE, f, 1}, [{[1], [], [{message, {caller}}]}, {'_', [], []}], [local]),
    Plain = traced(P, [call], trace_module_plain, [call], fun() -> {g(1), f(<<1, 2>>)} end),
    Stamped = [traced(P, [call | Flags], trace_module_full, [call], fun() -> {g(1), f(2)} end) ||
                  Flags <- [[timestamp], [monotonic_timestamp], [strict_monotonic_timestamp],
                            [scheduler_id], [timestamp, monotonic_timestamp, scheduler_id]]],
    1 = erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{message, false}]}], [local]),
    None = traced(P, [call], trace_module_full, [call], fun() -> f(2) end),
    Silent = traced(P, [call, silent], trace_module_full, [call], fun() -> f(2) end),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [global]),
    Global = traced(P, [call, return_to], trace_module_full, [call, return_to],
                    fun() -> {?MODULE:f(3), f(4)} end),
    [Plain, Stamped, None, Silent, Global];
part(returns) ->
    P = tracee(),
    [1 = erlang:trace_pattern({?MODULE, F, 1}, [{'_', [], [{exception_trace}]}], [local]) ||
        F <- [f, fails]],
    traced(P, [call, return_to], trace_module_full, [call, return_to, return_from, exception_from],
           fun() -> {g(1), catch fails(2), catch f(fails(3))} end);
part(arity) ->
    1 = erlang:trace_pattern({erlang, abs, 1}, [{'_', [], [{return_trace}]}], [local]),
    Events = traced(tracee(), [call, arity, return_to], trace_module_full, [call, return_from, return_to],
                    fun() -> [apply(erlang, abs, [-1])] end),
    erlang:trace_pattern({erlang, abs, 1}, false, [local]),
    Events;
part(messages) ->
    P = tracee(),
    {Dead, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, process, Dead, _} -> ok end,
    Do = fun() -> self() ! {some, <<"message">>}, receive {some, X} -> X after 0 -> none end,
                  receive nothing -> ok after 0 -> timeout end,
                  Dead ! lost end,
    Tags = [send, 'receive', send_to_non_existing_process],
    All = traced(P, [send, 'receive'], trace_module_full, Tags, Do),
    erlang:trace_pattern(send, [{['$1', {some, '_'}], [], [{message, {{sent_to, '$1'}}}]}], []),
    erlang:trace_pattern('receive', [{['_', '_', {some, '$1'}], [], [{message, '$1'}]}], []),
    Some = traced(P, [send, 'receive', timestamp], trace_module_plain, Tags, Do),
    [erlang:trace_pattern(E, true, []) || E <- [send, 'receive']],
    [All, Some];
part(procs) ->
    P = tracee(),
    Helper = spawn(fun helper/0),
    Do = fun() ->
                 register(trace_module_name, self()),
                 unregister(trace_module_name),
                 link(Helper), unlink(Helper),
                 Own = self(),
                 call(Helper, fun() -> link(Own), unlink(Own) end),
                 process_flag(trap_exit, true),
                 Child = spawn_link(fun() -> exit(gone) end),
                 receive {'EXIT', Child, Why} -> Why end
         end,
    Tags = [register, unregister, link, unlink, getting_linked, getting_unlinked, spawn, spawned, exit],
    Events = traced(P, [procs], trace_module_full, Tags, Do),
    Ends = traced(tracee(), [procs], trace_module_plain, Tags,
                  fun() -> register(trace_module_name, self()), exit(done) end),
    [[{F, Tag, Who, What, Opts, Self} || {F, Tag, Who, What, Opts, Self} <- Events], Ends];
part(spawned) ->
    P = tracee(),
    traced(P, [procs, set_on_spawn], trace_module_plain, [spawned, exit],
           fun() -> {Q, Ref} = spawn_monitor(fun() -> ok end), receive {'DOWN', Ref, _, Q, _} -> ok end end);
part(running) ->
    P = tracee(),
    Events = traced(P, [running, scheduler_id], trace_module_full, [in, out],
                    fun() -> receive nothing -> ok after 2 -> ok end end),
    lists:usort([{F, Tag, Who, Opts, Self} || {F, Tag, tracee = Who, _, Opts, Self} <- Events]);
part(collections) ->
    P = tracee(),
    Events = traced(P, [garbage_collection], trace_module_full, [gc_major_start, gc_major_end],
                    fun() -> garbage_collect() end),
    lists:usort([{F, Tag, Who, [K || {K, _} <- Info, K =:= heap_size], Opts, Self} ||
                    {F, Tag, tracee = Who, Info, Opts, Self} <- Events]);
part(asked) ->
    %% How often is not said.
    P = tracee(),
    1 = erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{exception_trace}]}], [local]),
    [lists:usort([Q || Q <- traced(P, [call, return_to, send, 'receive', procs, running,
                                       garbage_collection, timestamp], Module, [log],
                                   fun() -> {f(1), garbage_collect(), self() ! x, receive x -> ok end,
                                             spawn(fun() -> ok end), receive nothing -> ok after 1 -> ok end}
                                   end),
                       not lists:member(element(2, Q), [gc_minor_start, gc_minor_end])]) ||
        Module <- [trace_module_plain, trace_module_full]];
part(answers) ->
    %% Some end the trace, where the process that is traced runs itself.
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
    [begin
         P = tracee(),
         State = {self(), #{Tag => Answer}},
         1 = erlang:trace(P, true, [Flag, {tracer, trace_module_full, State}]),
         call(P, fun() -> {f(1), self() ! x, receive x -> ok end, spawn(fun() -> ok end),
                           garbage_collect()} end),
         delivered(P),
         Left = [element(1, M) || M <- flush()],
         Now = [erlang:trace_info(P, flags), erlang:trace_info(P, tracer) =:= {tracer, []}],
         1 = erlang:trace(P, false, [all]),
         delivered(P),
         flush(),
         {Flag, Answer, Left =/= [], Now}
     end || {Flag, Tag} <- [{call, call}, {send, send}, {'receive', 'receive'}, {procs, spawn}, {running, in},
                            {garbage_collection, gc_major_start}],
            Answer <- [trace, discard, remove, raise, something]];
part(status) ->
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
    [begin
         P = tracee(),
         State = {self(), #{call => trace, trace_status => Answer}},
         1 = erlang:trace(P, true, [call, {tracer, trace_module_full, State}]),
         call(P, fun() -> f(Answer) end),
         delivered(P),
         {Answer, [A || {_, _, _, {_, _, A}, _, _} <- flush()], erlang:trace_info(P, flags)}
     end || Answer <- [trace, discard, remove, raise, something]];
part(taken) ->
    P = tracee(),
    State = {self(), #{}},
    [1 = erlang:trace(P, true, [F, {tracer, trace_module_full, {self(), #{}}}]) || F <- [call, send]],
    Other = {tracer, trace_module_plain, State},
    Same = [erlang:trace_info(P, tracer) =:= {tracer, {trace_module_full, State}},
            lists:sort(element(2, erlang:trace_info(P, flags)))],
    Taken = [result(fun() -> erlang:trace(P, How, [call, T]) end) ||
                How <- [true, false], T <- [Other, {tracer, trace_module_full, other}, {tracer, self()}]],
    1 = erlang:trace(P, false, [send]),
    1 = erlang:trace(P, false, [call, {tracer, trace_module_full, State}]),
    Off = erlang:trace_info(P, tracer),
    1 = erlang:trace(P, true, [call, {tracer, trace_module_full, {self(), #{trace_status => remove}}}]),
    1 = erlang:trace(P, true, [send, Other]),
    [Same, Taken, Off, lists:sort(element(2, erlang:trace_info(P, flags))),
     erlang:trace_info(P, tracer) =:= {tracer, {trace_module_plain, State}}];
part(off) ->
    P = tracee(),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
    1 = erlang:trace(P, true, [call, {tracer, trace_module_full, {self(), #{call => trace}}}]),
    1 = erlang:trace_pattern({?MODULE, f, 1}, false, [local]),
    call(P, fun() -> f(1) end),
    1 = erlang:trace(P, false, [call]),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
    call(P, fun() -> f(1) end),
    delivered(P),
    {flush(), erlang:trace_info(P, tracer)};
part(sensitive) ->
    P = tracee(),
    traced(P, [call, send, procs], trace_module_full, [call, send, register, unregister, log],
           fun() -> process_flag(sensitive, true), f(1), self() ! x, receive x -> ok end,
                    register(trace_module_name, self()), unregister(trace_module_name),
                    process_flag(sensitive, false) end) =/= [];
part(new) ->
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
    [begin
         State = {self(), #{call => trace, trace_status => Answer}},
         N = erlang:trace(new, true, [call, {tracer, trace_module_plain, State}]),
         Info = [erlang:trace_info(new, tracer) =:= {tracer, {trace_module_plain, State}},
                 erlang:trace_info(new, flags)],
         P = tracee(),
         N = erlang:trace(new, false, [call]),
         call(P, fun() -> f(Answer) end),
         delivered(P),
         {Answer, N, Info, [A || {_, _, _, {_, _, A}, _, _} <- flush()]}
     end || Answer <- [trace, remove, something]];
part(meta) ->
    P = tracee(),
    State = {self(), #{call => trace}},
    1 = erlang:trace_pattern({?MODULE, h, 1}, [{'_', [], [{exception_trace}, {message, {caller}}]}],
                             [{meta, trace_module_plain, State}]),
    Info = [erlang:trace_info({?MODULE, h, 1}, meta) =:= {meta, {trace_module_plain, State}},
            erlang:trace_info({?MODULE, h, 1}, meta_match_spec)],
    call(P, fun() -> {h(1), deep(5000), catch h(bad)} end),
    delivered(P),
    Events = told(P, flush()),
    1 = erlang:trace_pattern({?MODULE, h, 1}, true, [{meta, trace_module_plain, {self(), #{}}}]),
    call(P, fun() -> h(2) end),
    1 = erlang:trace_pattern({?MODULE, h, 1}, false, [meta]),
    call(P, fun() -> h(2) end),
    delivered(P),
    %% Functions of the VM that trap, or go to a dirty scheduler, and return later.
    Bifs = [{maps, from_list, 1}, {prim_file, read_file, 1}, {binary, split, 2}],
    [1 = erlang:trace_pattern(F, [{'_', [], [{return_trace}]}], [{meta, trace_module_plain, State}]) ||
        F <- Bifs],
    call(P, fun() -> {maps:from_list([{N, N} || N <- lists:seq(1, 3000)]),
                      prim_file:read_file("/no/such/file"),
                      binary:split(binary:copy(<<"ab">>, 10000), <<"x">>)} end),
    delivered(P),
    [1 = erlang:trace_pattern(F, false, [meta]) || F <- Bifs],
    [Info, length(Events), lists:sublist(Events, 4), lists:nthtail(length(Events) - 3, Events),
     [{F, Tag, maps:remove(extra, Opts)} || {F, Tag, _, _, Opts, _} <- flush()]];
part(meta_removed) ->
    P = tracee(),
    State = {self(), #{call => trace, trace_status => remove}},
    1 = erlang:trace_pattern({?MODULE, h, 1}, true, [{meta, trace_module_plain, State}]),
    Before = erlang:trace_info({?MODULE, h, 1}, meta) =:= {meta, {trace_module_plain, State}},
    call(P, fun() -> h(1) end),
    delivered(P),
    [Before, flush(), erlang:trace_info({?MODULE, h, 1}, meta),
     erlang:trace_info({?MODULE, h, 1}, meta_match_spec),
     erlang:trace_pattern({?MODULE, h, 1}, false, [meta])];
part(action) ->
    Named = fun(Tracer) -> [{'_', [], [{trace, [], [call, {const, Tracer}]}]}] end,
    State = {self(), #{call => trace}},
    Events = [begin
         P = tracee(),
         1 = erlang:trace(P, true, [call, {tracer, trace_module_full, {self(), #{}}}]),
         1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
         1 = erlang:trace_pattern({?MODULE, h, 1}, Named(Tracer), [local]),
         call(P, fun() -> {f(0), h(1), f(2)} end),
         delivered(P),
         {[A || {_, _, _, {_, _, A}, _, _} <- flush()], erlang:trace_info(P, tracer) =:= {tracer, {trace_module_plain, State}}}
     end || Tracer <- [{tracer, trace_module_plain, State}, {tracer, lists, State},
                       {tracer, trace_module_plain, {self(), #{trace_status => remove}}}]],
    erlang:trace_pattern({?MODULE, h, 1}, false, [local]),
    Events;
part(seq) ->
    State = {self(), #{seq_trace => trace}},
    Answers = [result(fun() -> seq_trace:set_system_tracer(T) end) ||
                  T <- [{lists, []}, {1, []}, {trace_module_plain, {self(), #{trace_status => remove}}}]],
    false = seq_trace:set_system_tracer({trace_module_plain, State}),
    Same = seq_trace:get_system_tracer() =:= {trace_module_plain, State},
    P = tracee(),
    Do = fun() -> [seq_trace:set_token(K, true) || K <- [send, 'receive', print]],
                  seq_trace:set_token(label, {a, label}),
                  self() ! hello, receive hello -> ok end,
                  seq_trace:print({a, label}, printed),
                  seq_trace:set_token(timestamp, true),
                  seq_trace:print({a, label}, stamped),
                  seq_trace:set_token([]) end,
    call(P, Do),
    Events = told(P, flush()),
    Was = seq_trace:set_system_tracer({trace_module_full, {self(), #{log => true}}}) =:=
        {trace_module_plain, State},
    call(P, Do),
    ConnectBy = told(P, lists:usort(flush())),
    seq_trace:set_system_tracer(false),
    [Answers, Same, Events, Was, ConnectBy];
part(dbg) ->
    P = tracee(),
    {ok, _} = dbg:tracer(module, {trace_module_plain, {self(), #{call => trace, trace_status => trace}}}),
    {ok, _} = dbg:p(P, [c]),
    {ok, _} = dbg:tpl(?MODULE, f, 1, []),
    call(P, fun() -> f(dbg) end),
    delivered(P),
    Events = told(P, flush()),
    dbg:stop_clear(),
    Events;
part(unloaded) ->
    P = tracee(),
    State = {self(), #{call => trace, send => trace}},
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
    1 = erlang:trace_pattern({?MODULE, h, 1}, true, [{meta, trace_module_plain, State}]),
    Step = fun(X) -> call(P, fun() -> {f(X), h(X)} end), delivered(P),
                     [{F, A} || {_, _, _, {_, F, A}, _, _} <- flush()] end,
    1 = erlang:trace(P, true, [call, {tracer, trace_module_plain, State}]),
    Before = Step(before),
    true = code:delete(trace_module_plain),
    Deleted = Step(deleted),
    code:purge(trace_module_plain),
    Purged = Step(purged),
    Info = [erlang:trace_info(P, tracer), erlang:trace_info(P, flags),
            erlang:trace_info({?MODULE, h, 1}, meta)],
    {module, _} = code:load_file(trace_module_plain),
    Again = Step(loaded),
    %% Between its events it may be loaded again.
    1 = erlang:trace(P, true, [call, {tracer, trace_module_plain, State}]),
    code:purge(trace_module_plain),
    {module, _} = code:load_file(trace_module_plain),
    Upgraded = Step(upgraded),
    code:purge(trace_module_plain),
    Last = Step(last),
    erlang:trace_pattern({?MODULE, h, 1}, false, [meta]),
    [Before, Deleted, Purged, Info, Again, Upgraded, Last];
part(collected_state) ->
    %% What a state is of may go.
    1 = erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{return_trace}]}], [local]),
    Parent = self(),
    P = tracee(),
    call(spawn(fun helper/0),
         fun() -> State = {Parent, #{call => trace, return_from => trace,
                                     list_to_binary(lists:duplicate(1000, $a)) => make_ref(),
                                     fun() -> Parent end => lists:seq(1, 100)}},
                  1 = erlang:trace(P, true, [call, {tracer, trace_module_full, State}]) end),
    garbage_collect(),
    call(P, fun() -> f(1), garbage_collect(), f(2) end),
    delivered(P),
    {tracer, {trace_module_full, {Parent, Map}}} = erlang:trace_info(P, tracer),
    [told(P, flush()), maps:size(Map)].

%% ---- what is traced ----

f(X) -> {X}.
g(X) -> Y = f(X), [Y].
h(X) when X =/= bad -> X.
fails(X) -> error({failed, X}).

deep(0) -> 0;
deep(N) -> 1 + deep(N - h(1)).

tracee() ->
    spawn(fun helper/0).

helper() ->
    receive
        {From, Ref, F} ->
            F(),
            From ! {Ref, done}
    end,
    helper().

%% ---- events ----

traced(P, Flags, Module, Tags, Do) ->
    State = {self(), maps:from_list([{Tag, trace} || Tag <- Tags])},
    1 = erlang:trace(P, true, [{tracer, Module, State} | Flags]),
    call(P, Do),
    delivered(P),
    Events = told(P, flush()),
    %% It may have ended. What it has been told of meanwhile is not of the next part.
    catch erlang:trace(P, false, [all]),
    delivered(P),
    flush(),
    Events.

call(P, F) ->
    Ref = make_ref(),
    Monitor = monitor(process, P),
    P ! {self(), Ref, F},
    receive {Ref, done} -> ok; {'DOWN', Monitor, process, P, _} -> ok end,
    demonitor(Monitor, [flush]).

delivered(P) ->
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end.

flush() ->
    receive M -> [M | flush()] after 0 -> [] end.

result(F) ->
    try F()
    catch C:R:Stack -> {C, R, [M || {_, _, _, Info} <- [hd(Stack)], {error_info, M} <- Info]}
    end.

%% Without pids and the like.
told(P, T) when T =:= P -> tracee;
told(_, T) when T =:= self() -> tracer;
told(_, T) when is_pid(T) -> pid;
told(_, T) when is_reference(T) -> ref;
told(_, T) when is_function(T) -> function;
told(P, T) when is_tuple(T) -> list_to_tuple(told(P, tuple_to_list(T)));
told(P, #{scheduler_id := N} = Opts) when is_integer(N) -> told(P, Opts#{scheduler_id := number});
told(P, T) when is_map(T) -> maps:map(fun(_, V) -> told(P, V) end, T);
told(P, [H | T]) -> [told(P, H) | told(P, T)];
told(_, T) -> T.
