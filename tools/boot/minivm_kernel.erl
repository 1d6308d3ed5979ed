%% OTP's kernel application in a bare boot: it comes up when it is first asked for.
%%
%% A program that needs no applications starts without any. The VM calls whereis/1 here when a process
%% looks for a name that OTP's kernel registers and that no process has yet (minivm:kernel/1 tells the VM
%% the state); calls of functions that our `logger` does not have come here as well. Then application
%% controller, logger, kernel and stdlib are started as a boot script of OTP starts them, the caller
%% waits, and from there on everything is OTP's own. Input, output and the loading of code stay with
%% the bare boot: OTP's supervisor gets a process that only stands for them.
-module(minivm_kernel).
-export([whereis/1, ets/2, start/0, boot/0, stop/1, flush_logger/0, stand_in/0, stand_in/1]).

%% The process of that name once the kernel is up, or undefined.
whereis(Name) ->
    start(),
    erlang:whereis(Name).

%% A read of one of its tables.
ets(Function, Args) ->
    start(),
    apply(ets, Function, Args).

%% Returns when the kernel is up. Concurrent callers wait for one start.
start() ->
    Ref = make_ref(),
    init ! {kernel, self(), Ref},
    receive {Ref, up} -> ok end.

%% Ends all applications, in order. Kernel is what spawn of boot/0 gave.
stop(Kernel) ->
    Ref = monitor(process, Kernel),
    Kernel ! stop,
    receive {'DOWN', Ref, process, _, _} -> ok end.

%% All that was logged before is written. What the VM tells comes by logger_proxy; handlers may have processes
%% of their own, which write it.
flush_logger() ->
    try
        logger_olp:info(logger_proxy),
        [try Module:filesync(Id) catch _:_ -> ok end || #{id := Id, module := Module} <- logger:get_handler_config(),
                                                        erlang:function_exported(Module, filesync, 1)]
    catch
        _:_ -> ok
    end.

%% The process that `init` starts this with.
boot() ->
    process_flag(trap_exit, true),
    minivm:kernel(starting),
    Ebin = filename:dirname(minivm:find_file(application_controller)),
    {ok, Level, Modules} = logger:own_levels(),
    {logger, OtpLogger} = minivm:prepare_file(filename:join(Ebin, "logger.beam")),
    ok = erlang:finish_loading([OtpLogger]),
    Old = erlang:whereis(logger),
    unregister(logger),
    {ok, Logger} = logger_server:start_link(),
    {ok, Loader} = erl_prim_loader:start(),
    ok = erl_prim_loader:set_path(minivm:code_path()),
    stop_file_server(),
    ets:delete(ac_tab),
    case application_controller:start(app(Ebin, kernel)) of
        {ok, Controller} -> start_applications(Controller);
        Why -> exit(Why)
    end,
    Level =:= notice orelse logger:set_primary_config(level, Level),
    [logger:set_module_level(M, L) || {M, L} <- Modules],
    Old ! retire,
    minivm:kernel(up),
    serve(#{controller => erlang:whereis(application_controller), logger => Logger, loader => Loader}).

start_applications(_) ->
    Stdlib = filename:dirname(minivm:find_file(gen_server)),
    ok = application:load(app(Stdlib, stdlib)),
    ok = application:start_boot(kernel, permanent),
    ok = application:start_boot(stdlib, permanent).

%% The contents of an application's .app file.
app(Ebin, Name) ->
    {ok, Text} = minivm:read_file(filename:join(Ebin, atom_to_list(Name) ++ ".app")),
    {ok, Tokens, _} = erl_scan:string(unicode:characters_to_list(Text)),
    {ok, App} = erl_parse:parse_term(Tokens),
    App.

%% The file server of the bare boot leaves its name to the kernel's. Files that it opened stay open.
stop_file_server() ->
    Pid = erlang:whereis(file_server_2),
    Ref = monitor(process, Pid),
    sys:replace_state(Pid, fun(S) ->
                                   {links, Files} = process_info(self(), links),
                                   [unlink(F) || F <- Files],
                                   S
                           end),
    exit(Pid, kill),
    receive {'DOWN', Ref, process, _, _} -> ok end.

serve(#{controller := Controller} = S) ->
    receive
        {up, From, Ref} ->
            From ! {Ref, up},
            serve(S);
        stop ->
            exit(Controller, shutdown),
            receive {'EXIT', Controller, _} -> ok end;
        {'EXIT', Pid, Reason} when Pid =:= Controller ->
            terminated(application_controller, Reason, S);
        {'EXIT', Pid, Reason} when Pid =:= map_get(logger, S) ->
            terminated(logger, Reason, S);
        {'EXIT', Pid, Reason} when Pid =:= map_get(loader, S) ->
            terminated(erl_prim_loader, Reason, S);
        _ ->
            serve(S)
    end.

%% Without any of these the VM ends.
terminated(Name, Reason, S) ->
    init ! {kernel_terminated, Name, Reason},
    serve(S).

%% A child for OTP's supervisor where the bare boot has a process of its own.
stand_in() ->
    {ok, spawn_link(fun wait/0)}.
stand_in(Name) ->
    Parent = self(),
    Pid = spawn_link(fun() -> register(Name, self()), Parent ! {self(), registered}, wait() end),
    receive {Pid, registered} -> {ok, Pid} end.

wait() ->
    receive _ -> wait() end.
