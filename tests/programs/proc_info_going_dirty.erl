%% Who asked in the moment before a process went into a dirty function, here the opening of a pipe that
%% nobody writes to, waited for the end of the function; and who asked while another one did.
-module(proc_info_going_dirty).
-export([main/1]).

main(_) ->
    Fifo = "proc_info_going_dirty.fifo",
    _ = file:delete(Fifo),
    "" = os:cmd("mkfifo " ++ Fifo),
    [round(Fifo, Kind) || _ <- lists:seq(1, 100), Kind <- [info, alive, code]],
    io:format("all answered~n"),
    file:delete(Fifo).

round(Fifo, Kind) ->
    {P, Down} = spawn_monitor(fun() -> {ok, _} = file:open(Fifo, [raw, read]) end),
    Askers = [spawn_monitor(fun() -> until_in_open(P, Kind) end) || _ <- [1, 2]],
    [receive {'DOWN', Ref, process, _, normal} -> ok end || {_, Ref} <- Askers],
    {ok, File} = file:open(Fifo, [raw, read, write]),
    receive {'DOWN', Down, process, P, normal} -> ok end,
    ok = file:close(File).

until_in_open(P, Kind) ->
    {ConnectBy, Expected} = ask(P, Kind),
    Expected = ConnectBy,
    case process_info(P, current_function) of
        {current_function, {prim_file, open_nif, 2}} -> ok;
        _ -> until_in_open(P, Kind)
    end.

ask(_, info) -> {ok, ok};
ask(P, alive) -> {is_process_alive(P), true};
ask(P, code) -> {erlang:check_process_code(P, no_such_module), false}.
