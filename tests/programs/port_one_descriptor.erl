%% A port that reads and writes the same descriptor: more output than the pipe takes is queued while the port reads.
-module(port_one_descriptor).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    Name = "port_one_descriptor." ++ os:getpid(),
    [] = os:cmd("mkfifo " ++ Name),
    try open_port(Name, [binary]) of
        P -> both(P)
    catch
        error:Why -> io:format("~p~n", [Why])  % this release opens no files by name
    end,
    ok = file:delete(Name).

both(P) ->
    Data = << <<N:32>> || N <- lists:seq(1, 1 bsl 18) >>,
    P ! {self(), {command, Data}},
    io:format("~p~n", [collect(P, byte_size(Data), []) =:= Data]),
    P ! {self(), {command, <<"once more">>}},
    io:format("~p~n", [collect(P, 9, [])]),
    P ! {self(), close},
    receive {P, closed} -> ok end.

collect(_, 0, Pieces) ->
    iolist_to_binary(lists:reverse(Pieces));
collect(P, Left, Pieces) ->
    receive
        {P, {data, D}} -> collect(P, Left - byte_size(D), [D | Pieces]);
        {'EXIT', P, Why} -> {Left, Why}
    end.
