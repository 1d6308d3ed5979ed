%% Prepares or loads the .beam files that a file names, one a line; see code_size.py.
-module(code_size).
-export([main/1]).

-define(ROUNDS, 3).

main([What, List]) ->
    {ok, Names} = file:read_file(List),
    Code = [begin
                {ok, Bytes} = file:read_file(Name),
                {list_to_atom(filename:basename(binary_to_list(Name), ".beam")), Bytes}
            end || Name <- binary:split(Names, <<"\n">>, [global, trim_all])],
    run(What, Code).

%% Processor time of the whole VM, in which nothing else happens. The first round warms up.
run("time", Code) ->
    prepare(Code),
    {Before, _} = statistics(runtime),
    [prepare(Code) || _ <- lists:seq(1, ?ROUNDS)],
    {After, _} = statistics(runtime),
    io:format("prepare_ms ~b~n", [(After - Before) div ?ROUNDS]);
%% For perf's map: minivm names code when it is prepared, erl when it is loaded.
run("prepare", Code) ->
    prepare(Code),
    io:format("pid ~s~n", [os:getpid()]);
run("load", Code) ->
    lists:foreach(
      fun({Module, Bytes}) ->
              case erlang:load_module(Module, Bytes) of
                  {module, Module} -> ok;
                  {error, on_load} -> ok
              end
      end, Code),
    io:format("pid ~s~n", [os:getpid()]).

prepare(Code) ->
    lists:foreach(
      fun({Module, Bytes}) -> true = is_reference(erlang:prepare_loading(Module, Bytes)) end,
      Code),
    erlang:garbage_collect().
