%% Runs generated trace programs, on erl and on minivm:
%%     erl -noshell -pa DIR -run trace_harness start -extra compile SCRIPT DIR NAME...
%%     minivm run -pa DIR trace_harness.beam run SCRIPT NAME...
%% SCRIPT holds {Name, Module, Steps}; with `compile`, Module is compiled from its source in DIR first.
%% Prints a line for each step and, behind the last one, what the tracers got: for each tracer and each
%% process that was traced its messages in order. Between two processes OTP promises no order. Pids and
%% references have names, in the order in which they are first printed.
-module(trace_harness).
-export([start/0, main/1, worker/0, tracer/0, wait_for/1]).

-define(PROGRAM_LIMIT_MS, 10000).
%% A message behind which a tracer has no others of the program.
-define(COLLECT, '$collect').

start() ->
    main(init:get_plain_arguments()),
    halt(0).

main(["compile", Script, Folder | Names]) ->
    {ok, Programs} = file:consult(Script),
    Modules = lists:usort([Module || {_, Module, _} <- Programs]),
    Compilers = [spawn_monitor(fun() -> compile(Module, Folder) end) || Module <- Modules],
    [receive {'DOWN', Monitor, process, Pid, normal} -> ok end || {Pid, Monitor} <- Compilers],
    run(Programs, Names);
main(["run", Script | Names]) ->
    {ok, Programs} = file:consult(Script),
    run(Programs, Names).

compile(Module, Folder) ->
    {ok, Module} = compile:file(filename:join(Folder, Module), [{outdir, Folder}]).

run(Programs, Names) ->
    %% What a program calls is there before patterns wait for modules to come.
    [code:ensure_loaded(M) || M <- [error_handler, lists, maps, erl_erts_errors, erl_stdlib_errors]],
    register(trace_settler, spawn_link(fun settler/0)),
    [run_one(Program) || {Name, _, _} = Program <- Programs,
                         Names =:= [] orelse lists:member(atom_to_list(Name), Names)].

run_one({Name, Module, Steps}) ->
    io:format("program ~s~n", [Name]),
    {module, Module} = code:ensure_loaded(Module),
    clear(),
    {Pid, Monitor} = spawn_monitor(fun() -> control(Steps) end),
    receive
        {'DOWN', Monitor, process, Pid, normal} -> ok;
        {'DOWN', Monitor, process, Pid, Reason} -> io:format("died ~0tp~n", [Reason])
    after ?PROGRAM_LIMIT_MS ->
            io:format("timeout ~0tp~n", [process_info(Pid, current_stacktrace)]),
            halt(3)
    end,
    clear(),
    io:format("end ~s~n", [Name]).

%% Nothing is traced, and nothing is left of the program before.
clear() ->
    erlang:trace(all, false, [all]),
    [erlang:trace_pattern({'_', '_', '_'}, false, Flags)
     || Flags <- [[local], [global], [meta], [call_count], [call_time]]],
    [erlang:trace_pattern(on_load, How, Flags)
     || {How, Flags} <- [{false, [local, meta, call_count, call_time]}, {true, []}, {false, []}]],
    erlang:trace_pattern(send, true, []),
    erlang:trace_pattern('receive', true, []),
    erlang:system_flag(trace_control_word, 0),
    code:purge(trace_late),
    code:delete(trace_late),
    code:purge(trace_late).

%% ---- the process that does the steps, and is the tracer where none is named --------------------

control(Steps) ->
    name(self(), control),
    put(others, processes()),
    lists:foldl(fun(Step, Number) ->
                        Result = normal(step(real(Step))),
                        _ = seq_trace:set_token([]),
                        io:format("~w ~0tp~n", [Number, Result]),
                        Number + 1
                end, 1, Steps),
    report(),
    [end_process(Pid) || {{known, _}, Pid} <- get()].

%% Names are kept as {name, Pid}, processes by name as {known, Name}.
name(Term, Name) -> put({name, Term}, Name).
known(Name) -> get({known, Name}).

start_process(Name, Function) ->
    Pid = spawn(?MODULE, Function, []),
    put({known, Name}, Pid),
    name(Pid, Name),
    settled(Pid).

%% The process waits again: what it did is done.
settled(Pid) ->
    case process_info(Pid, [status, message_queue_len]) of
        [{status, waiting}, {message_queue_len, 0}] -> ok;
        undefined -> ended;
        _ -> erlang:yield(), settled(Pid)
    end.

%% For who is traced: what a process that waits for another one does must not depend on how long.
wait_for(Pid) ->
    trace_settler ! {self(), Pid},
    receive {settled, Pid} -> ok end.
settler() ->
    receive
        {From, Pid} ->
            settled(Pid),
            From ! {settled, Pid}
    end,
    settler().

end_process(Pid) -> ends(Pid, fun() -> exit(Pid, kill) end).

ends(Pid, Do) ->
    Monitor = monitor(process, Pid),
    Do(),
    receive {'DOWN', Monitor, process, Pid, Reason} -> Reason end.

step({worker, Name}) -> start_process(Name, worker);
step({tracer, Name}) -> start_process(Name, tracer);
step({work, Pid, trace_late, Function, Arguments}) ->
    %% A load on demand is not what is compared here.
    case erlang:module_loaded(trace_late) of
        true -> work(Pid, trace_late, Function, Arguments);
        false -> not_loaded
    end;
step({work, Pid, Module, Function, Arguments}) -> work(Pid, Module, Function, Arguments);
step({last, Pid, Module, Function, Arguments}) ->
    ends(Pid, fun() -> Pid ! {last, Module, Function, Arguments} end);
step({tell, Pid, Message}) ->
    Pid ! {tell, Message},
    settled(Pid);
step({exit, Pid, Reason}) -> ends(Pid, fun() -> exit(Pid, Reason) end);
step({trace, Who, How, Flags}) ->
    case called(erlang, trace, [Who, How, Flags]) of
        {ok, Count} when is_atom(Who), How =:= false, is_integer(Count) -> ok;
        Result -> Result
    end;
step({pattern, Functions, Spec, Flags}) ->
    case called(erlang, trace_pattern, [Functions, Spec, Flags]) of
        {ok, Count} when element(1, Functions) =:= '_', is_integer(Count) -> ok;
        Result -> Result
    end;
step({info, What, Item}) -> info(called(erlang, trace_info, [What, Item]));
step({test, Term, Spec, Kind}) -> called(erlang, match_spec_test, [Term, Spec, Kind]);
step({kill, Pid}) -> end_process(Pid);
step(load_late) -> element(1, code:load_file(trace_late)).

work(Pid, Module, Function, Arguments) ->
    Monitor = monitor(process, Pid),
    Pid ! {work, self(), Module, Function, Arguments},
    Result = receive
                 {done, Pid, Value} -> Value;
                 {'DOWN', Monitor, process, Pid, Reason} -> {died, Reason}
             end,
    demonitor(Monitor, [flush]),
    settled(Pid),
    Result.

%% How long calls took is nobody's business here, nor whose row comes first.
info({ok, {call_time, Rows}}) when is_list(Rows) -> {ok, {call_time, calls(Rows)}};
info({ok, {all, Items}}) when is_list(Items) ->
    {ok, {all, [case Item of
                    {call_time, Rows} when is_list(Rows) -> {call_time, calls(Rows)};
                    _ -> Item
                end || Item <- Items]}};
info(Result) -> Result.
calls(Rows) -> lists:sort([{normal(Pid), Calls} || {Pid, Calls, _, _} <- Rows]).

%% With what a shell would say about the exception.
called(Module, Function, Arguments) ->
    try {ok, apply(Module, Function, Arguments)}
    catch Class:Reason:Stack ->
            [{M, F, A, Location} | _] = Stack,
            case proplists:get_value(error_info, Location) of
                #{module := Explainer} = Info ->
                    {Class, Reason, {M, F, A}, Info, Explainer:format_error(Reason, Stack)};
                undefined -> {Class, Reason, {M, F, A}}
            end
    end.

%% ---- what is traced, and who is told ------------------------------------------------------------

worker() ->
    receive
        {work, From, Module, Function, Arguments} ->
            Result = try {ok, apply(Module, Function, Arguments)}
                     catch Class:Reason:Stack -> {Class, Reason, Stack}
                     end,
            erase(),
            process_flag(trap_exit, false),
            From ! {done, self(), Result},
            ?MODULE:worker();
        {last, Module, Function, Arguments} -> apply(Module, Function, Arguments);
        _ -> ?MODULE:worker()
    end.

tracer() ->
    receive {?COLLECT, From} -> From ! {collected, messages()} end,
    ?MODULE:tracer().

messages() ->
    receive
        {?COLLECT, _} -> [];
        Message -> [Message | messages()]
    after 0 -> []
    end.

report() ->
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    erlang:trace(all, false, [all]),
    show(control, messages()),
    [begin
         Pid ! {?COLLECT, self()},
         receive {collected, Messages} -> show(Name, Messages) end
     end || {{known, {tracer, _} = Name}, Pid} <- lists:sort(get()), is_process_alive(Pid)].

show(Tracer, Messages) ->
    %% A meta trace tells of everybody.
    Pids = first_ones([element(2, M) || M <- Messages, is_event(M)]) -- get(others),
    {Known, Others} = lists:partition(fun(Pid) -> get({name, Pid}) =/= undefined end, Pids),
    InOrder = [Pid || {_, Pid} <- lists:sort([{get({name, Pid}), Pid} || Pid <- Known])] ++ Others,
    [io:format("stray ~0tp~n", [normal(M)]) || M <- Messages, not is_event(M)],
    [show(Tracer, Pid, [M || M <- Messages, is_event(M), element(2, M) =:= Pid]) || Pid <- InOrder].

show(Tracer, Pid, Events) ->
    _ = [io:format("wrong ~s of ~0tp~n", [Wrong, normal(Pid)]) || Wrong <- disorder(Events)],
    case comparable(Events) of
        [] -> ok;
        Comparable ->
            io:format("to ~0tp of ~0tp~n", [normal(Tracer), normal(Pid)]),
            _ = [io:format("  ~0tp~n", [normal(Event)]) || Event <- Comparable]
    end.

is_event(M) -> is_tuple(M) andalso tuple_size(M) >= 3
                   andalso (element(1, M) =:= trace orelse element(1, M) =:= trace_ts).

first_ones(List) -> lists:reverse(lists:foldl(fun(X, Seen) ->
                                                      case lists:member(X, Seen) of
                                                          true -> Seen;
                                                          false -> [X | Seen]
                                                      end
                                              end, [], List)).

%% When a process runs and when it collects is not the same in two runs; those events only have to
%% come in pairs. Nor is it when a message comes to a receive, so these stand behind the others; and a
%% message that its process ends without having looked at is told of in OTP 25 unless a collection took
%% over those before it alone. Of a time stamp its kind is left.
comparable(Events) ->
    {Received, Others} = lists:partition(fun(E) -> element(3, E) =:= 'receive' end,
                                         [without_time(E) || E <- Events, family(element(3, E)) =:= none,
                                                             not is_for_nobody(E)]),
    Others ++ Received.

is_for_nobody(Event) ->
    element(3, Event) =:= 'receive' andalso
        case element(4, Event) of {to_nobody, _} -> true; _ -> false end.

without_time(Event) when element(1, Event) =:= trace_ts ->
    setelement(tuple_size(Event), Event,
               case element(tuple_size(Event), Event) of
                   {A, B, C} when is_integer(A), is_integer(B), is_integer(C) -> timestamp;
                   {A, B} when is_integer(A), is_integer(B) -> strict;
                   A when is_integer(A) -> monotonic;
                   Other -> {no_time, Other}
               end);
without_time(Event) -> Event.

family(in) -> {running, in};
family(out) -> {running, out};
family(in_exiting) -> {running, in};
family(out_exiting) -> {running, out};
family(out_exited) -> {running, out};
family(gc_minor_start) -> {minor, in};
family(gc_minor_end) -> {minor, out};
family(gc_major_start) -> {major, in};
family(gc_major_end) -> {major, out};
family(_) -> none.

disorder(Events) ->
    Kinds = [family(element(3, E)) || E <- Events],
    [Family || Family <- [running, minor, major],
               twice([Edge || {F, Edge} <- Kinds, F =:= Family])].
twice([Edge, Edge | _]) -> true;
twice([_ | Rest]) -> twice(Rest);
twice([]) -> false.

%% ---- terms of the script, and terms to print ----------------------------------------------------

real({'$w', N}) -> known_or_name({worker, N});
real({'$t', N}) -> known_or_name({tracer, N});
real('$control') -> self();
real('$gone') -> gone();
real({worker, {'$w', N}}) -> {worker, {worker, N}};
real({tracer, {'$new', N}}) -> {tracer, {tracer, N}};
real([Head | Tail]) -> [real(Head) | real(Tail)];
real(Tuple) when is_tuple(Tuple) -> list_to_tuple([real(E) || E <- tuple_to_list(Tuple)]);
real(Map) when is_map(Map) -> maps:from_list([{real(K), real(V)} || {K, V} <- maps:to_list(Map)]);
real(Other) -> Other.

known_or_name(Name) ->
    case known(Name) of
        undefined -> Name;
        Pid -> Pid
    end.

%% A process that has ended.
gone() ->
    case get(gone) of
        undefined ->
            {Pid, Monitor} = spawn_monitor(fun() -> ok end),
            receive {'DOWN', Monitor, process, Pid, _} -> ok end,
            name(Pid, gone),
            put(gone, Pid),
            Pid;
        Pid -> Pid
    end.

normal(Term) when is_pid(Term) -> named(Term, process);
normal(Term) when is_reference(Term) -> named(Term, reference);
normal(Term) when is_port(Term) -> port;
normal(Fun) when is_function(Fun) ->
    [{_, Module}, {_, Name}, {_, Arity}, {_, Env}] =
        [erlang:fun_info(Fun, Item) || Item <- [module, name, arity, env]],
    {'$fun', Module, Name, Arity, normal(Env)};
normal([Head | Tail]) -> [normal(Head) | normal(Tail)];
normal(Tuple) when is_tuple(Tuple) -> list_to_tuple([normal(E) || E <- tuple_to_list(Tuple)]);
normal(Map) when is_map(Map) ->
    maps:from_list([{normal(K), normal(V)} || {K, V} <- maps:to_list(Map)]);
normal(Text) when is_binary(Text), byte_size(Text) > 60 ->
    %% Only what {process_dump} makes is so long.
    case binary:match(Text, <<"Program counter">>) of
        nomatch -> Text;
        _ -> process_dump
    end;
normal(Other) -> Other.

named(Term, Kind) ->
    case get({name, Term}) of
        undefined ->
            Number = case get({last, Kind}) of undefined -> 1; Last -> Last + 1 end,
            put({last, Kind}, Number),
            name(Term, {Kind, Number}),
            {Kind, Number};
        Name -> Name
    end.
