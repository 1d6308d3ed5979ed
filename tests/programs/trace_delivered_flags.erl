%% What a process told by flags that were taken back comes before the answer of trace_delivered/1, however
%% close the two were: it had looked at its flags before and pushed its message behind the answer.
-module(trace_delivered_flags).
-export([main/1]).

main(_) ->
    Busy = [spawn_link(fun() -> busy(fun erlang:yield/0) end),
            spawn_link(fun() -> busy(fun() -> self() ! x, receive x -> ok end end) end),
            spawn_link(fun() -> busy(fun() -> garbage_collect() end) end)],
    [io:format("~p ~p~n", [Flags, lists:usort([late(P, Flags) || _ <- lists:seq(1, 60), P <- Busy])]) ||
        Flags <- [[running], [send, 'receive'], [garbage_collection]]],
    [begin unlink(P), exit(P, kill) end || P <- Busy].

busy(F) -> F(), busy(F).

%% Whether a message comes behind the answer.
late(P, Flags) ->
    1 = erlang:trace(P, true, Flags),
    erlang:yield(),
    1 = erlang:trace(P, false, Flags),
    Ref = erlang:trace_delivered(P),
    receive {trace_delivered, P, Ref} -> ok end,
    flush(),
    erlang:yield(),
    flush().

flush() ->
    receive M when element(1, M) =:= trace -> flush(), true after 0 -> false end.
