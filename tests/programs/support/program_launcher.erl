%% Runs Module:main(Arguments) on OTP's `erl` as escript would, so that its output and exit
%% status are what `minivm run FILE.beam ARGUMENTS` has to give:
%%     erl -noshell -pa DIR -run program_launcher start -extra MODULE ARGUMENTS
-module(program_launcher).
-export([start/0]).

-define(UNCAUGHT, 127).

start() ->
    [Name | Arguments] = init:get_plain_arguments(),
    Module = list_to_atom(Name),
    {module, Module} = code:ensure_loaded(Module),
    %% Before OTP 26 a shell-less `erl` writes Latin-1 whatever the locale says.
    ok = io:setopts(standard_io, [{encoding, unicode}]),
    %% A process of its own: the one that boots is linked to init and traps exits.
    {Main, Monitor} = spawn_monitor(fun() -> exit({status, run(Module, Arguments)}) end),
    receive
        {'DOWN', Monitor, process, Main, {status, Status}} ->
            halt(Status);
        {'DOWN', Monitor, process, Main, Reason} ->
            io:format(standard_error, "main was killed: ~tp~n", [Reason]),
            halt(?UNCAUGHT)
    end.

run(Module, Arguments) ->
    try call(Module, Arguments) of
        _ -> 0
    catch
        Class:Reason:Stack ->
            Text = erl_error:format_exception(Class, Reason, Stack),
            io:put_chars(standard_error, [Text, $\n]),
            ?UNCAUGHT
    end.

call(Module, Arguments) ->
    case erlang:function_exported(Module, main, 1) of
        true -> Module:main(Arguments);
        false -> Module:start()
    end.
