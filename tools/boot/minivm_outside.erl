%% Lets clients from outside in: those of `minivm attach`, `load` and `record`, which come over the socket
%% of --listen, and the prompt of `minivm repl`. Each gets a session of its own (minivm_session).
%%
%% The VM sends `client` when one waits; whoever comes first fetches it (minivm:outside_next/0).
-module(minivm_outside).
-export([start/0]).

start() ->
    register(?MODULE, self()),
    process_flag(priority, high),
    %% Those who came before we had a name were not announced.
    [session() || _ <- lists:seq(1, minivm:outside_waiting())],
    loop().

loop() ->
    receive
        client ->
            session(),
            loop();
        _ ->
            loop()
    end.

session() ->
    spawn(minivm_session, start, []).
