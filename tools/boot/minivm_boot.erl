%% The first process of a bare boot. It starts the I/O server, runs what the command line asks for in a
%% process of its own, answers what programs ask of `init`, and ends the VM with the report and the exit
%% status that escript would give.
%%
%% `init` waits for no process and calls no library: processes that it starts do that. So it answers as long
%% as the VM runs, also while the VM ends.
-module(minivm_boot).
-export([start/1, run/1, logger/0, file_server/0, code_server/0, code_purger/0, last_words/0, stop/2,
         report_crash/2, ensure_loaded/2]).

%% Functions of erlang that are Erlang code (spawn/1, halt/1, group_leader/2) are not called on the way to a
%% small program's end, nor is proplists: so neither module has to be loaded for it.

%% Options: [{file, Path} | {source, Path} | {module, Module} | {args, [String]} |
%%           {flag, {Name, [String]}} | {call, [M, F | Strings]} |
%%           {eval, String} | {encoding, unicode | latin1}], in the order of the command line.
start(Options) ->
    try
        boot(Options)
    catch
        Class:Reason:Trace ->
            %% Nothing works without this process: say what happened with what needs no library.
            erlang:display({boot_failed, Class, Reason, Trace}),
            erlang:halt(1, [])
    end.

boot(Options) ->
    process_flag(trap_exit, true),
    register(init, self()),
    %% The application controller's table: application:get_env/2 looks into it in every process.
    ac_tab = ets:new(ac_tab, [set, public, named_table, {read_concurrency, true}]),
    register(file_server_2, spawn(?MODULE, file_server, [])),
    register(code_server, spawn(?MODULE, code_server, [])),
    register(erts_code_purger, erts_internal:spawn_system_process(?MODULE, code_purger, [])),
    {Io, Error} = minivm_io:start(),
    erts_internal:group_leader(Io, self()),
    Logger = spawn_link(?MODULE, logger, []),      % its group leader is ours
    register(logger, Logger),
    persistent_term:put(?MODULE, [Logger, Io, Error]),
    case option(encoding, Options, latin1) of
        unicode ->
            io:setopts(Io, [{encoding, unicode}]),
            io:setopts(standard_error, [{encoding, unicode}]);
        latin1 -> ok
    end,
    case {lists:member(listen, Options), option(repl, Options, none)} of
        {true, none} -> spawn(minivm_outside, start, []);
        _ -> ok
    end,
    {Main, Ref} = spawn_opt(?MODULE, run, [Options], [link, monitor]),
    serve(#{main => Main, ref => Ref, logger => Logger, options => Options}).

option(Name, [{Name, Value} | _], _) -> Value;
option(Name, [_ | Rest], Default) -> option(Name, Rest, Default);
option(_, [], Default) -> Default.

%% ---- the program ------------------------------------------------------------------------------

run(Options) ->
    minivm:main_process(self()),
    minivm:kernel(available),
    %% os:cmd/1 of OTP 27.2 finds it there, where OTP's kernel has put it when it started.
    erlang:system_info(otp_release) >= "27" andalso persistent_term:put(kernel_os_cmd_shell, "/bin/sh"),
    try
        trace(run, option(trace, Options, [])),
        steps(Options, Options),
        case lists:member(wait, Options) of
            true -> receive after infinity -> ok end;
            false -> finish(0, returned)
        end
    catch
        Class:Reason:Trace ->
            recorder:uncaught(Class, Reason, Trace),
            report(Class, Reason, Trace),
            finish(127, uncaught)
    end.

%% No lists:foreach here: its frames would show in every stack trace.
steps([Option | Rest], Options) ->
    step(Option, Options),
    steps(Rest, Options);
steps([], _) ->
    ok.

step({file, Path}, Options) ->
    case minivm:prepare_file(Path) of
        {error, Text} -> fail(Text);
        {Module, Code} ->
            case erlang:has_prepared_code_on_load(Code) of
                false ->
                    ok = erlang:finish_loading([Code]),
                    main(Module, Options);
                true ->
                    case code_server:load_program(Path) of
                        {module, Module} -> main(Module, Options);
                        {error, Why} ->
                            fail(io_lib:format("module ~ts cannot be loaded: ~tp", [Module, Why]))
                    end
            end
    end;
step({source, Path}, Options) ->
    case minivm_load:quietly([Path], "minivm: ") of
        {ok, [Module]} -> main(Module, Options);
        {error, Text} -> told(Text)
    end;
step({load, Paths}, _) ->
    case minivm_load:quietly(Paths, "minivm: ") of
        {ok, _} -> ok;
        {error, Text} -> told(Text)
    end;
step({module, Module}, Options) ->
    case minivm:ensure_loaded(Module) of
        true -> main(Module, Options);
        on_load ->
            case code:ensure_loaded(Module) of
                {module, Module} -> main(Module, Options);
                {error, Why} -> fail(io_lib:format("module ~ts cannot be loaded: ~tp", [Module, Why]))
            end;
        false ->
            Source = atom_to_list(Module) ++ ".erl",
            fail([io_lib:format("module ~ts: no file ~ts.beam in the code path", [Module, Module]),
                  [["; there is ", Source, ": minivm run ", Source] || {ok, _} <- [minivm:read_file(Source)]]]);
        {error, Text} -> fail(Text)
    end;
step({call, [M]}, _) -> M:start();
step({call, [M, F]}, _) -> M:F();
step({call, [M, F | Args]}, _) -> M:F(Args);
step({eval, Text}, _) -> eval(Text);
step({repl, Files}, _) -> minivm_outside:repl(Files);
step(_, _) -> ok.

main(Module, Options) ->
    Args = option(args, Options, []),
    trace(again, option(trace, Options, [])),
    case {erlang:function_exported(Module, main, 1), erlang:function_exported(Module, start, 0)} of
        {true, _} -> Module:main(Args);
        {false, true} -> Module:start();
        {false, false} ->
            fail(io_lib:format("module ~ts exports neither main/1 nor start/0", [Module]))
    end.

%% --trace: set before anything runs; what is in the program's own file, once that is loaded.
trace(_, []) -> ok;
trace(run, Patterns) -> traced(minivm_trace:run(Patterns));
trace(again, _) -> traced(minivm_trace:again()).

traced(ok) -> ok;
traced({error, Text}) -> fail(["run: --trace ", Text]).

eval(Text) ->
    case erl_scan:string(Text) of
        {ok, Tokens, _} ->
            case erl_parse:parse_exprs(dot(Tokens)) of
                {ok, Exprs} ->
                    erl_eval:exprs(Exprs, erl_eval:new_bindings());
                {error, {_, Module, Why}} ->
                    fail(["-eval: ", Module:format_error(Why)])
            end;
        {error, {_, Module, Why}, _} ->
            fail(["-eval: ", Module:format_error(Why)])
    end.

%% "foo." and "foo" both end in one dot, as for erl.
dot(Tokens) ->
    case lists:reverse(Tokens) of
        [{dot, _} | _] -> Tokens;
        Reversed -> lists:reverse(Reversed, [{dot, erl_anno:new(1)}])
    end.

fail(Text) ->
    minivm:write_stderr(to_binary(["minivm: ", Text, "\n"])),
    finish(1, cannot_run).

%% What names its file itself, as a compiler does.
told(Text) ->
    io:put_chars(standard_error, Text),
    finish(1, cannot_run).

finish(Status, How) ->
    minivm:plan_halt(Status, How),
    receive after infinity -> ok end.

report(Class, Reason, Trace) ->
    Own = fun(M, _, _) -> M =:= ?MODULE end,
    Format = fun(Term, Indent) -> io_lib:format("~." ++ integer_to_list(Indent) ++ "tP", [Term, 50]) end,
    Text = try erl_error:format_exception(1, Class, Reason, Trace, Own, Format, unicode)
           catch _:_ -> none
           end,
    case Text of
        none -> erlang:display({Class, Reason, Trace});
        _ -> minivm:write_stderr(to_binary(["minivm: ", Text, "\n"]))
    end.

%% ---- init ----------------------------------------------------------------------------------------

serve(S) ->
    receive
        {'DOWN', Ref, process, _, Reason} when Ref =:= map_get(ref, S) ->
            main_ended(Reason),
            serve(S#{ref := none, main := none});
        {'EXIT', Pid, Reason} when Pid =:= map_get(main, S) ->  % as erl, that of exit(whereis(init), Reason) too
            main_ended(Reason),
            serve(S#{ref := none, main := none});
        {stop, How} ->
            erts_internal:spawn_system_process(?MODULE, stop, [How, maps:get(kernel, S, none)]),
            serve(S#{stopping => true});
        {kernel, From, Ref} when is_pid(From), is_reference(Ref) ->
            case S of
                #{kernel := Kernel} ->
                    Kernel ! {up, From, Ref},
                    serve(S);
                _ ->
                    Kernel = spawn_link(minivm_kernel, boot, []),
                    Kernel ! {up, From, Ref},
                    serve(S#{kernel => Kernel})
            end;
        %% What ends once somebody has asked for the end, ends in order.
        {kernel_terminated, Name, Reason} when not is_map_key(stopping, S) ->
            crash("Kernel pid terminated", [Name, Reason]),
            serve(S);
        {'EXIT', Pid, Reason} when Pid =:= map_get(kernel, S), not is_map_key(stopping, S) ->
            crash("the kernel ended", [Reason]),
            serve(S);
        {'EXIT', Pid, Reason} when Pid =:= map_get(logger, S), not is_map_key(kernel, S) ->
            crash("Kernel pid terminated", [logger, Reason]),
            serve(S);
        {From, {ensure_loaded, Module}} when is_pid(From) ->
            spawn(?MODULE, ensure_loaded, [From, Module]),
            serve(S);
        {From, Request} when is_pid(From) ->
            %% Whatever it is and whoever else is gone: this process stays.
            From ! {init, try answer(Request, S) catch _:_ -> {error, badarg} end},
            serve(S);
        _ ->
            serve(S)
    end.

answer(get_plain_arguments, #{options := O}) -> option(args, O, []);
answer(get_arguments, #{options := O}) -> flags(O);
answer({get_argument, Name}, #{options := O}) ->
    case [Values || {N, Values} <- flags(O), N =:= Name] of
        [] -> error;
        All -> {ok, All}
    end;
answer(get_status, _) -> {started, started};
answer(script_id, _) -> {"minivm", []};
answer(fetch_loaded, _) -> erlang:loaded();
answer(_, _) -> {error, badarg}.

%% What `erl` tells of itself, and the flags of the command line.
flags(O) ->
    Root = minivm:otp_root(),
    Programs = Root ++ "/erts-" ++ erlang:system_info(version) ++ "/bin",
    [{root, [Root]}, {bindir, [Programs]}, {progname, ["minivm"]}] ++
        [{home, [Home]} || Home <- [os:getenv("HOME")], Home =/= false] ++
        [{noshell, []}] ++ [Flag || {flag, Flag} <- O].

ensure_loaded(From, Module) ->
    From ! {init, code:ensure_loaded(Module)}.

%% ---- the end -------------------------------------------------------------------------------------

%% By an exit signal: run/1 itself never returns.
main_ended(normal) -> minivm:plan_halt(0, returned);
main_ended(Reason) -> crash("init terminating in do_boot", [Reason]).

%% As OTP's init: the terms on standard output, and a text of them, behind the last words, on standard error.
%% In a process of its own: they can be large.
crash(Text, Terms) ->
    erts_internal:spawn_system_process(?MODULE, report_crash, [Text, Terms]).

report_crash(Text, Terms) ->
    minivm:is_halt_planned() orelse erlang:display(list_to_tuple([Text | Terms])),
    minivm:plan_halt(Text ++ in_brackets(Terms), crash),
    receive after infinity -> ok end.

in_brackets([T | Rest]) -> " (" ++ short_text(T, 0) ++ ")" ++ in_brackets(Rest);
in_brackets([]) -> "".

%% What OTP's init makes of a term: nothing of what is no number, atom or pid, and of those no more than four deep.
short_text(T, Depth) when is_list(T), Depth < 4 ->
    case characters(T, []) of
        [_ | _] = Chars -> Chars;
        _ -> "[" ++ short_texts(T, Depth + 1) ++ "]"
    end;
short_text(T, Depth) when is_tuple(T), Depth < 4 -> "{" ++ short_texts(tuple_to_list(T), Depth + 1) ++ "}";
short_text(T, _) when is_list(T) -> "[_]";
short_text(T, _) when is_tuple(T) -> "{_}";
short_text(T, _) when is_atom(T) -> atom_to_list(T);
short_text(T, _) when is_integer(T) -> integer_to_list(T);
short_text(T, _) when is_float(T) -> float_to_list(T);
short_text(T, _) when is_pid(T) -> pid_to_list(T);
short_text(_, _) -> "".

short_texts([T], Depth) -> short_text(T, Depth);
short_texts([T | Rest], Depth) when is_list(Rest) -> short_text(T, Depth) ++ "," ++ short_texts(Rest, Depth);
short_texts([T | Rest], Depth) -> short_text(T, Depth) ++ "|" ++ short_text(Rest, Depth);
short_texts([], _) -> "".

%% The printable characters of a deep list and Rest, or false.
characters([H | T], Rest) ->
    case characters(T, Rest) of
        false -> false;
        Chars when is_list(H) -> characters(H, Chars);
        Chars when is_integer(H), H >= $\s, H =< $~; H =:= $\n; H =:= $\r; H =:= $\t -> [H | Chars];
        _ -> false
    end;
characters([], Rest) -> Rest;
characters(_, _) -> false.

%% init:stop/0,1 and the like.
stop(How, Kernel) ->
    Kernel =:= none orelse begin minivm_kernel:flush_logger(), minivm_kernel:stop(Kernel) end,
    case How of
        {stop, Status} ->
            try minivm:plan_halt(Status, stop)
            catch error:_ -> minivm:plan_halt(1, stop)
            end;
        _ when How =:= stop; How =:= reboot -> minivm:plan_halt(0, stop);
        Status when is_integer(Status), Status >= 0 -> minivm:plan_halt(Status, stop);
        _ -> minivm:plan_halt(1, stop)
    end,
    receive after infinity -> ok end.

%% The VM runs this once somebody has asked for the end, in whichever way (vm/sched/halt.hpp), and ends without
%% it after a while. What was logged and printed before is written first.
last_words() ->
    erlang:whereis(minivm_tracer) =:= undefined orelse minivm_trace:flush(),
    erlang:whereis(logger_proxy) =:= undefined orelse minivm_kernel:flush_logger(),
    written(persistent_term:get(?MODULE, [])),
    minivm:halt().

%% Our logger, then what it writes to.
written([Pid | Rest]) ->
    Ref = monitor(process, Pid),
    Pid ! {sync, self(), Ref},
    receive
        {Ref, ok} -> ok;
        {'DOWN', Ref, process, _, _} -> ok
    end,
    written(Rest);
written([]) -> ok.

%% ---- files ---------------------------------------------------------------------------------------

%% Becomes OTP's file server with the first request: most programs need none.
file_server() ->
    receive
        Request ->
            self() ! Request,
            put('$ancestors', [init]),
            put('$initial_call', {file_server, init, 1}),
            {ok, State} = file_server:init([]),
            gen_server:enter_loop(file_server, [], State, {local, file_server_2})
    end.

%% ---- code ------------------------------------------------------------------------------------------

%% These two begin with the first request, so that a program that needs neither does not load them.
code_server() ->
    receive
        Request ->
            self() ! Request,
            code_server:start()
    end.

%% OTP's own.
code_purger() ->
    process_flag(trap_exit, true),
    receive
        Request ->
            self() ! Request,
            erts_code_purger:wait_for_request()
    end.

%% ---- error reports --------------------------------------------------------------------------------

%% Events come from our module logger, {log, ...} from the VM itself.
%% With the kernel comes OTP's logger: what was told before is written nevertheless, also what called the kernel up
%% while it was written.
logger() ->
    receive
        {event, Event} ->
            write(Event),
            logger();
        {sync, From, Ref} ->
            From ! {Ref, ok},
            logger();
        {log, Level, Format, Args, Meta} ->
            Default = #{time => os:system_time(microsecond), pid => self(), gl => group_leader(),
                        error_logger => #{tag => error, emulator => true}},
            logger:allow(Level, undefined) andalso
                write(#{level => Level, msg => {Format, Args}, meta => maps:merge(Default, Meta)}),
            logger();
        retire ->
            ok;
        _ ->
            logger()
    end.

write(Event) ->
    try
        io:put_chars(standard_error, formatted(Event))
    catch
        _:_ -> write_plain(Event)
    end.

formatted(Event) ->
    try
        logger_formatter:format(Event, #{legacy_header => true, single_line => false})
    catch
        _:_ -> io_lib:format("~tp~n", [Event])
    end.

%% Without a library: what is to be said may be why none can be loaded.
write_plain(#{msg := {Format, Args}}) ->
    Text = case Args of
               [What] when Format =:= "~ts~n" -> [What, $\n];
               _ -> Format
           end,
    Ref = erlang:monitor(process, standard_error),
    standard_error ! {io_request, self(), Ref, {put_chars, unicode, Text}},
    receive
        {io_reply, Ref, _} -> erlang:demonitor(Ref, [flush]);
        {'DOWN', Ref, process, _, _} -> ok
    end;
write_plain(_) ->
    ok.

%% By the VM: what is to be said may be that no file can be opened, so not that of the module unicode.
to_binary(Text) -> unicode:characters_to_binary(Text, unicode).
