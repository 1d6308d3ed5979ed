%% The first process of a bare boot. It starts the I/O server, runs what the command line asks for in a
%% process of its own, answers what programs ask of `init`, writes error reports, and ends the VM with
%% the exit status that escript would give.
-module(minivm_boot).
-export([start/1, run/1, logger/0, file_server/0, code_server/0, code_purger/0]).

%% Functions of erlang that are Erlang code (spawn/1, halt/1, group_leader/2) are not called on the way to a
%% small program's end, nor is proplists: so neither module has to be loaded for it.

%% Options: [{file, Path} | {module, Module} | {args, [String]} |
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
    register(erts_code_purger, spawn(?MODULE, code_purger, [])),
    Io = minivm_io:start(),
    erts_internal:group_leader(Io, self()),
    register(logger, spawn(?MODULE, logger, [])),  % its group leader is ours
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
    {_, Ref} = spawn_opt(?MODULE, run, [Options], [monitor]),
    minivm:kernel(available),
    serve(#{main => Ref, options => Options}).

option(Name, [{Name, Value} | _], _) -> Value;
option(Name, [_ | Rest], Default) -> option(Name, Rest, Default);
option(_, [], Default) -> Default.

%% ---- the program ------------------------------------------------------------------------------

run(Options) ->
    try
        trace(run, option(trace, Options, [])),
        steps(Options, Options),
        case lists:member(wait, Options) of
            true -> receive after infinity -> ok end;
            false -> finish(0)
        end
    catch
        Class:Reason:Trace ->
            recorder:uncaught(Class, Reason, Trace),
            report(Class, Reason, Trace),
            finish(127)
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
step({module, Module}, Options) ->
    case minivm:ensure_loaded(Module) of
        true -> main(Module, Options);
        on_load ->
            case code:ensure_loaded(Module) of
                {module, Module} -> main(Module, Options);
                {error, Why} -> fail(io_lib:format("module ~ts cannot be loaded: ~tp", [Module, Why]))
            end;
        false -> fail(io_lib:format("module ~ts: no file ~ts.beam in the code path", [Module, Module]));
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
    minivm:write_stderr(unicode:characters_to_binary(["minivm: ", Text, "\n"])),
    finish(1).

%% Ends the VM once all output that was asked for is written.
finish(Status) ->
    erlang:whereis(minivm_tracer) =:= undefined orelse minivm_trace:flush(),
    Ref = make_ref(),
    user ! {sync, self(), Ref},
    receive {Ref, ok} -> ok after 10000 -> ok end,
    erlang:halt(Status, []).

report(Class, Reason, Trace) ->
    Own = fun(M, _, _) -> M =:= ?MODULE end,
    Format = fun(Term, Indent) -> io_lib:format("~." ++ integer_to_list(Indent) ++ "tP", [Term, 50]) end,
    Text = try erl_error:format_exception(1, Class, Reason, Trace, Own, Format, unicode)
           catch _:_ -> none
           end,
    case Text of
        none -> erlang:display({Class, Reason, Trace});
        _ -> minivm:write_stderr(unicode:characters_to_binary(["minivm: ", Text, "\n"]))
    end.

%% ---- init ----------------------------------------------------------------------------------------

serve(S) ->
    receive
        {'DOWN', Ref, process, _, Reason} when Ref =:= map_get(main, S) ->
            %% killed from outside: run/1 itself never returns
            minivm:write_stderr(unicode:characters_to_binary(
                                  io_lib:format("minivm: the program was ended: ~tp~n", [Reason]))),
            finish(127);
        {stop, Status} ->
            case S of
                #{kernel := Kernel} -> minivm_kernel:stop(Kernel);
                _ -> ok
            end,
            finish(status(Status)),
            serve(S);
        {kernel, _, _} = Request when is_map_key(kernel, S) ->
            map_get(kernel, S) ! setelement(1, Request, up),
            serve(S);
        {kernel, _, _} = Request ->
            self() ! Request,
            serve(S#{kernel => spawn_link(minivm_kernel, boot, [])});
        {'EXIT', Pid, Reason} when Pid =:= map_get(kernel, S) ->
            minivm:write_stderr(unicode:characters_to_binary(
                                  io_lib:format("minivm: the kernel did not start: ~tp~n", [Reason]))),
            erlang:halt(1, []);
        {From, Request} when is_pid(From) ->
            From ! {init, answer(Request, S)},
            serve(S);
        stop_sigterm ->
            finish(143);
        stop_sigint ->
            finish(130);
        _ ->
            serve(S)
    end.

status(N) when is_integer(N), N >= 0 -> N;
status(stop) -> 0;
status(_) -> 1.

answer(get_plain_arguments, #{options := O}) -> option(args, O, []);
answer(get_arguments, #{options := O}) ->
    [{root, [code:root_dir()]}, {progname, ["minivm"]}, {noshell, []}] ++ [Flag || {flag, Flag} <- O];
answer({get_argument, noshell}, _) -> {ok, [[]]};
answer({get_argument, progname}, _) -> {ok, [["minivm"]]};
answer({get_argument, root}, _) -> {ok, [[code:root_dir()]]};
answer({get_argument, home}, _) ->
    case os:getenv("HOME") of
        false -> error;
        Home -> {ok, [[Home]]}
    end;
answer({get_argument, Name}, #{options := O}) ->
    case [Values || {flag, {N, Values}} <- O, N =:= Name] of
        [] -> error;
        All -> {ok, All}
    end;
answer(get_status, _) -> {started, started};
answer(script_id, _) -> {"minivm", []};
answer(fetch_loaded, _) -> erlang:loaded();
answer({ensure_loaded, Module}, _) ->
    code:ensure_loaded(Module);
answer(_, _) -> {error, badarg}.

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
logger() ->
    receive
        {event, Event} ->
            write(Event);
        {log, Level, Format, Args, Meta} ->
            Default = #{time => os:system_time(microsecond), pid => self(), gl => group_leader(),
                        error_logger => #{tag => error, emulator => true}},
            write(#{level => Level, msg => {Format, Args}, meta => maps:merge(Default, Meta)});
        _ ->
            ok
    end,
    logger().

write(Event) ->
    Text = try
               logger_formatter:format(Event, #{legacy_header => true, single_line => false})
           catch
               _:_ -> io_lib:format("~tp~n", [Event])
           end,
    io:put_chars(standard_error, Text).
