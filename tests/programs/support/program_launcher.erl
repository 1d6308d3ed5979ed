%% Runs Module:main(Arguments) on OTP's `erl` as escript would, so that its output and exit
%% status are what `minivm run FILE.beam ARGUMENTS` has to give:
%%     erl -noshell -pa DIR -run program_launcher start -extra MODULE ARGUMENTS
%% and what it says on standard error, too.
-module(program_launcher).
-export([start/0]).

-define(UNCAUGHT, 127).

start() ->
    [Name | Arguments] = init:get_plain_arguments(),
    Module = list_to_atom(Name),
    {module, Module} = code:ensure_loaded(Module),
    %% A process of its own: the one that boots traps exits. Linked to init as that is, where escript runs main/1.
    {Main, Monitor} = spawn_monitor(fun() ->
        link(whereis(init)),
        exit({status, run(Module, Arguments)})
    end),
    receive
        {'DOWN', Monitor, process, Main, {status, Status}} ->
            flush_logger(),
            halt(Status);
        {'DOWN', Monitor, process, Main, Reason} ->
            io:format(standard_error, "main was killed: ~tp~n", [Reason]),
            halt(?UNCAUGHT)
    end.

%% What was reported before is written, whichever process did: the VM's own come by the process logger_proxy.
flush_logger() ->
    catch logger_olp:info(logger_proxy),
    [catch Module:filesync(Id) || #{id := Id, module := Module} <- logger:get_handler_config(),
                                  erlang:function_exported(Module, filesync, 1)].

run(Module, Arguments) ->
    try call(Module, Arguments) of
        _ -> 0
    catch
        Class:Reason:Stack ->
            %% Not where this module calls it.
            Own = fun(M, _, _) -> M =:= ?MODULE end,
            Format = fun(Term, Indent) -> io_lib:format("~." ++ integer_to_list(Indent) ++ "tP", [Term, 50]) end,
            Text = erl_error:format_exception(1, Class, Reason, Stack, Own, Format, unicode),
            io:put_chars(standard_error, ["minivm: ", Text, $\n]),
            ?UNCAUGHT
    end.

call(Module, Arguments) ->
    case erlang:function_exported(Module, main, 1) of
        true -> Module:main(Arguments);
        false -> Module:start()
    end.
