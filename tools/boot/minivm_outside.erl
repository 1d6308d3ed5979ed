%% Lets clients from outside in: those of `minivm attach`, `load` and `record`, which come over the socket
%% of --listen, and the prompt of `minivm repl`. Each gets a session of its own (minivm_session).
%%
%% The VM sends `client` when a client waits; the first session that comes fetches it (minivm:outside_next/0).
-module(minivm_outside).
-export([start/0, repl/1]).

start() ->
    register(?MODULE, self()),
    process_flag(priority, high),
    %% Those who came before we had a name were not announced.
    [session() || _ <- lists:seq(1, minivm:outside_waiting())],
    loop(none).

%% `minivm repl` with these modules: its prompt is the first client, and the VM ends with it.
repl(Files) ->
    case minivm_load:quietly(Files, "** ") of
        {ok, _} -> prompt();
        {error, Text} -> fail([Text, "nothing has been loaded\n"])
    end.

fail(Text) ->
    io:put_chars(standard_error, Text),
    erlang:halt(1).

prompt() ->
    register(?MODULE, self()),
    process_flag(priority, high),
    %% Whoever is first has the prompt: the others come when it has been fetched.
    Outside = self(),
    Prompt = spawn(minivm_session, start, [fun() -> Outside ! {fetched, self()} end]),
    receive {fetched, Prompt} -> ok end,
    [session() || _ <- lists:seq(1, minivm:outside_waiting())],
    loop(monitor(process, Prompt)).

loop(Prompt) ->
    receive
        client ->
            session(),
            loop(Prompt);
        {'DOWN', Prompt, process, _, _} ->
            init ! {stop, 0},
            loop(none);
        _ ->
            loop(Prompt)
    end.

session() ->
    spawn(minivm_session, start, []).
