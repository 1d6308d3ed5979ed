%% Compiles modules from their sources as they were compiled for the release, and says what came out.
%%
%% main([List]): the file List has lines "SOURCE OUT"; of each a line "SOURCE: MD5 SIZE", or the errors.
%% OUT, if it is not "-", gets the .beam file.
-module(compile_modules).
-export([main/1]).

main([List]) ->
    {ok, Text} = file:read_file(List),
    lists:foreach(fun(Line) ->
                          [Source, Out] = string:lexemes(binary_to_list(Line), " "),
                          io:format("~s: ~s~n", [Source, compile(Source, Out)])
                  end, string:lexemes(Text, "\n")).

compile(Source, Out) ->
    Src = filename:dirname(Source),
    App = filename:dirname(Src),
    Lib = filename:dirname(App),
    Includes = [{i, Dir} || Dir <- [Src, filename:join(App, "include"), Lib, filename:join([Lib, "kernel", "include"]),
                                    filename:join([Lib, "stdlib", "include"])]],
    %% Where the sources lie shows in no chunk.
    %% The compiler's makefile names its version.
    Options = [binary, deterministic, debug_info, return_errors, {d, 'COMPILER_VSN', "1"}],
    try compile:file(Source, Options ++ Includes) of
        {ok, _, Beam} ->
            Out =:= "-" orelse (ok = file:write_file(Out, Beam)),
            io_lib:format("~s ~p", [binary:encode_hex(erlang:md5(Beam)), byte_size(Beam)]);
        Other -> io_lib:format("~0p", [Other])
    catch
        Class:Reason:Stack -> io_lib:format("~0p", [{Class, Reason, Stack}])
    end.
