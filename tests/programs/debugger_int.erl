%% OTP's debugger without its windows: a module is interpreted from its source, stops at a breakpoint, shows its
%% variables, goes on in steps, and runs natively again when it is no longer interpreted.
-module(debugger_int).
-export([main/1]).

source() ->
    "-module(debugged).\n"
    "-export([sum/1, server/0]).\n"
    "sum(L) ->\n"
    "    sum(L, 0).\n"
    "sum([H | T], S) ->\n"
    "    N = S + H,\n"
    "    sum(T, N);\n"
    "sum([], S) ->\n"
    "    S.\n"
    "server() ->\n"
    "    receive\n"
    "        {From, L} -> From ! {self(), catch sum(L)}, server()\n"
    "    end.\n".

main(_) ->
    Dir = filename:join(os:getenv("TMPDIR", "/tmp"), "debugger_int." ++ os:getpid()),
    ok = file:make_dir(Dir),
    try in(Dir) after [file:delete(filename:join(Dir, F)) || F <- ["debugged.erl", "debugged.beam"]], file:del_dir(Dir) end.

in(Dir) ->
    Source = filename:join(Dir, "debugged.erl"),
    ok = file:write_file(Source, source()),
    {ok, debugged} = compile:file(Source, [debug_info, {outdir, Dir}]),
    true = code:add_patha(Dir),
    io:format("~p ~p~n", [debugged:sum([1, 2, 3]), int:interpretable(debugged)]),
    io:format("~p ~p~n", [int:i(Source), int:interpreted()]),
    io:format("~p~n", [debugged:sum([1, 2, 3])]),
    io:format("~p~n", [int:break(debugged, 6)]),
    Server = spawn(fun debugged:server/0),
    int:subscribe(),
    Server ! {self(), [10, 20]},
    {Line, Meta} = stopped(Server),
    io:format("stopped ~p at ~p~n", [Line, [{P =:= Server, F, S, I} || {P, F, S, I} <- int:snapshot(), P =:= Server]]),
    io:format("~p~n", [lists:sort(int:meta(Meta, bindings, nostack))]),
    io:format("~p~n", [int:delete_break(debugged, 6)]),
    int:continue(Server),
    receive {Server, Sum} -> io:format("sum ~p~n", [Sum]) end,
    Server ! {self(), [1, a]},
    receive {Server, {'EXIT', {Reason, [Top | _]}}} -> io:format("~p ~p~n", [Reason, Top]) end,
    exit(Server, kill),
    io:format("~p ~p~n", [int:n(debugged), int:interpreted()]),
    io:format("~p~n", [debugged:sum(lists:seq(1, 1000))]).

stopped(Server) ->
    receive
        {int, {new_status, Server, break, {debugged, Line}}} ->
            {ok, Meta} = int:attached(Server),
            receive {Meta, {attached, debugged, Line, _}} -> {Line, Meta} end
    end.
