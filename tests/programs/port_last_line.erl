%% A last line without its end comes behind the status of the program, as a port of OTP flushes it when it closes.
-module(port_last_line).
-export([start/0]).

start() ->
    process_flag(trap_exit, true),
    [io:format("~0p ~s~n  ~0p~n", [Options, Command, told(Command, Options)]) ||
        Command <- ["printf 'a\\nb'", "printf 'a\\nb\\n'", "printf 'abcdefghijkl'", "true", "printf b; exit 3"],
        Options <- [[{line, 9}], [{line, 9}, exit_status], [{line, 9}, eof], [{line, 9}, eof, exit_status],
                    [{line, 9}, binary, exit_status], [exit_status], [eof, exit_status]]].

%% With `eof` that is the last of all, and the port stays; else it ends.
told(Command, Options) ->
    P = open_port({spawn, Command}, Options),
    case lists:member(eof, Options) of
        false -> until(exit, P);
        true ->
            Told = until(eof, P),
            port_close(P),
            Told ++ until(exit, P)
    end.

until(Last, P) ->
    receive
        {P, {exit_status, S}} -> [{exit_status, S} | until(Last, P)];
        {P, {data, D}} -> [D | until(Last, P)];
        {P, eof} when Last =:= eof -> [eof];
        {P, eof} -> [eof | until(Last, P)];
        {'EXIT', P, R} -> [{exit, R}]
    after 20000 -> [nothing_more]
    end.
