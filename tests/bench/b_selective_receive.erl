%% Calls to a server with references while a thousand unrelated messages wait in the mailbox.
-module(b_selective_receive).
-define(REPEAT, 15).
-include("bench.hrl").

once() ->
    Server = spawn_link(fun server/0),
    [self() ! {noise, N} || N <- lists:seq(1, 1000)],
    A = calls(Server, 20000, 0), B = tags(200, 0),
    Server ! stop,
    {A, B, flush(0)}.

server() -> receive {call, From, Ref, N} -> From ! {Ref, N + 1}, server(); stop -> ok end.

calls(_, 0, S) -> S;
calls(P, N, S) ->
    Ref = make_ref(), P ! {call, self(), Ref, N}, receive {Ref, M} -> calls(P, N - 1, S + M) end.

%% No fresh reference here: the whole queue is searched each time.
tags(0, S) -> S;
tags(N, S) -> self() ! {tag, N}, receive {tag, M} -> tags(N - 1, S + M) end.

flush(N) -> receive {noise, _} -> flush(N + 1) after 0 -> N end.
