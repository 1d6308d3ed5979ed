%% Native code that calls exit(): in a program that it has forked, and of the VM.
-module(exit_native).
-export([main/1]).
-on_load(load/0).
-nifs([forked/1, leave/1]).

load() -> erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "exit_native"), 0).

forked(_) -> erlang:nif_error(no).
leave(_) -> erlang:nif_error(no).

main(_) ->
    os:set_signal(sigchld, default),
    %% Written at once, and not by who may lose it when the VM ends.
    {ok, Out} = file:open("/dev/stdout", [raw, append]),
    ok = file:write(Out, io_lib:format("~p~n", [[forked(Status) || Status <- [0, 42, 255]]])),
    spawn(fun Busy() -> Busy() end),
    ok = file:write(Out, "leaving\n"),
    leave(7).
