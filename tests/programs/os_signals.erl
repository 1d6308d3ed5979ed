%% Signals of the operating system: os:set_signal/2 and the events of erl_signal_server.
-module(os_signals).
-behaviour(gen_event).
-export([main/1, init/1, handle_event/2, handle_call/2]).

main(_) ->
    io:format("~p~n", [[result(S, A) || {S, A} <- [{sigusr2, ignore}, {sighup, handle}, {sigstop, handle},
                                                   {sigterm, other}, {sigint, handle}, {foo, handle},
                                                   {1, handle}, {"sighup", default}]]]),
    ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, self()}),
    %% Ignored: the program goes on. (What is asked for later might hold for this one: it may still be on its way.)
    send(sigusr2),
    Names = [sighup, sigquit, sigalrm, sigterm, sigusr1, sigtstp],
    [ok = os:set_signal(Name, handle) || Name <- Names],
    [begin send(Name), io:format("~p~n", [event()]) end || Name <- Names],
    ok = os:set_signal(sigterm, ignore),
    send(sigterm),
    send(sighup),
    io:format("~p~n", [event()]),
    %% The VM is told of the ends of its ports' programs, and nobody else.
    ok = os:set_signal(sigchld, handle),
    [send(sighup) || _ <- [1, 2, 3]],
    io:format("~p~n", [[event() || _ <- [1, 2, 3]]]),
    send(sigchld),
    io:format("~p~n", [event()]),
    ok = os:set_signal(sigchld, default),
    %% A port's program starts with none of them blocked or ignored.
    io:format("~s", [os:cmd("sh -c 'kill -TERM $$; echo not reached'; echo $?")]).

result(Signal, Action) ->
    try os:set_signal(Signal, Action)
    catch error:Reason:Stack -> {Reason, element(4, hd(Stack))}
    end.

send(Name) ->
    "sig" ++ Short = atom_to_list(Name),
    "" = os:cmd("kill -" ++ string:uppercase(Short) ++ " " ++ os:getpid()).

event() ->
    receive {signal, Name} -> Name after 5000 -> nothing end.

init({To, _}) -> {ok, To}.

handle_event(Name, To) ->
    To ! {signal, Name},
    {ok, To}.

handle_call(_, To) -> {ok, ok, To}.
