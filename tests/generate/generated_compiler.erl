%% Compiles generated modules, each with its options, and calls them here, on erl:
%%     erl -noshell -pa DIR -run generated_compiler start -extra LIST DIR
%% LIST holds {Name, Source, Options} terms, their .beam files go to DIR. Prints "compiled NAME" or
%% "refused NAME WHY" for each, then what generated_harness prints.
-module(generated_compiler).
-export([start/0]).

-define(COMPILE_LIMIT_MS, 120000).

start() ->
    [List, Folder] = init:get_plain_arguments(),
    ok = io:setopts(standard_io, [{encoding, unicode}]),
    {ok, Modules} = file:consult(List),
    Compiled = compile_some(Modules, [], erlang:system_info(schedulers_online), Folder, []),
    lists:foreach(fun({Name, _, _}) ->
                          %% A twin is there to be called by its module.
                          case lists:member(Name, Compiled) andalso
                              not lists:suffix("_twin", atom_to_list(Name)) of
                              true -> generated_harness:oracle(Name);
                              false -> ok
                          end
                  end, Modules),
    halt(0).

compile_some([], [], _, _, Done) -> Done;
compile_some([{Name, Source, Options} | Rest], Running, Free, Folder, Done) when Free > 0 ->
    {_, Monitor} = spawn_monitor(fun() -> exit(compile_one(Source, Options, Folder)) end),
    compile_some(Rest, [{Monitor, Name} | Running], Free - 1, Folder, Done);
compile_some(Modules, Running, Free, Folder, Done) ->
    receive
        {'DOWN', Monitor, process, _, Result} ->
            {_, Name} = lists:keyfind(Monitor, 1, Running),
            Left = lists:keydelete(Monitor, 1, Running),
            case Result of
                ok ->
                    io:format("compiled ~s~n", [Name]),
                    compile_some(Modules, Left, Free + 1, Folder, [Name | Done]);
                _ ->
                    io:format("refused ~s ~0tp~n", [Name, Result]),
                    compile_some(Modules, Left, Free + 1, Folder, Done)
            end
    end.

compile_one(Source, Options, Folder) ->
    timer:kill_after(?COMPILE_LIMIT_MS),
    case filename:extension(Source) of
        ".S" -> result(compile:file(filename:rootname(Source), [from_asm | flags(Options, Folder)]));
        _ -> result(compile:file(Source, flags(Options, Folder)))
    end.

flags(Options, Folder) -> [return_errors, {outdir, Folder} | Options].

%% What the compiler writes and erl does not load is a bug there.
result({ok, Module}) ->
    case code:ensure_loaded(Module) of
        {module, Module} -> ok;
        Error -> Error
    end;
result({ok, Module, _}) -> result({ok, Module});
result({error, Errors, _}) -> {error, Errors};
result(error) -> error.
