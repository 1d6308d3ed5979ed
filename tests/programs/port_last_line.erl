%% A last line without its end comes behind the status of the program, as a port of OTP flushes it when it closes.
-module(port_last_line).
-export([start/0]).

start() ->
    process_flag(trap_exit, true),
    [io:format("~0p ~s~n  ~0p~n", [Options, Command, told(Command, Options)]) ||
        Command <- ["printf 'a\\nb'", "printf 'a\\nb\\n'", "printf 'abcdefghijkl'", "true", "printf b; exit 3"],
        Options <- [[{line, 9}], [{line, 9}, exit_status], [{line, 9}, eof], [{line, 9}, eof, exit_status],
                    [{line, 9}, binary, exit_status], [exit_status], [eof, exit_status]]].

told(Command, Options) ->
    P = open_port({spawn, Command}, Options),
    Told = collect(P, 300),
    catch port_close(P),
    Told ++ collect(P, 0).

collect(P, Wait) ->
    receive
        {P, {exit_status, S}} -> [{exit_status, S} | collect(P, Wait)];
        {P, {data, D}} -> [D | collect(P, Wait)];
        {P, eof} -> [eof | collect(P, Wait)];
        {'EXIT', P, R} -> [{exit, R} | collect(P, Wait)]
    after Wait -> []
    end.
