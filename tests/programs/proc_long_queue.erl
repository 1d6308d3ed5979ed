%% Messages that are received from within and behind long queues, small ones and large ones, by a process
%% with a deep stack too: what is received is right whatever is collected in between, and the rest stays.
-module(proc_long_queue).
-export([main/1]).

main(_) ->
    [io:format("~p ~p~n", [{Data, Queue, Depth}, run(Data, Queue, Depth)]) ||
        Data <- [on_heap, off_heap], Queue <- [0, 63, 64, 65, 3000], Depth <- [0, 500]].

run(Data, Queue, Depth) ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() ->
        process_flag(message_queue_data, Data),
        Self ! {self(), deep(Depth, fun() -> part(Queue) end)}
    end),
    receive {P, Result} -> receive {'DOWN', Ref, _, _, Why} -> {Why, Result} end;
            {'DOWN', Ref, _, _, Why} -> Why end.

deep(0, F) -> F();
deep(N, F) -> case deep(N - 1, F) of R when is_tuple(R) -> setelement(1, R, element(1, R) + N) end.

part(Queue) ->
    Server = spawn_link(fun server/0),
    [self() ! {junk, I, lists:seq(1, I rem 40), <<I:400>>} || I <- lists:seq(1, Queue)],
    %% Behind the queue; some results are kept, most are garbage.
    Kept = [call(Server, N) || N <- lists:seq(1, 120), keep(call(Server, N * 7 rem 1000))],
    %% From within it.
    Within = [receive {junk, I, L, B} -> {L, B} end || I <- lists:seq(Queue, 1, -97)],
    %% A message that is looked at and refused by a guard that builds something.
    Refused = receive {junk, _, L, B} when length(L) + byte_size(B) > 1000 -> yes after 0 -> no end,
    garbage_collect(),
    {message_queue_len, Length} = process_info(self(), message_queue_len),
    %% In order, what is left.
    Rest = flush(0),
    {0, lists:map(fun erlang:phash2/1, [Kept, Within]), length(Kept), Refused, Length, Rest}.

keep(Result) -> erlang:phash2(Result) rem 3 =:= 0.

flush(Sum) ->
    receive M -> flush((Sum * 31 + erlang:phash2(M)) rem 1000003) after 0 -> Sum end.

call(Server, N) ->
    Ref = make_ref(),
    Server ! {self(), Ref, N},
    receive {Ref, Reply} -> Reply end.

server() ->
    receive {From, Ref, N} -> From ! {Ref, reply(N)}, server() end.

reply(N) when N rem 5 =:= 0 -> {N, binary:copy(<<N>>, 200), fun erlang:abs/1, #{N => [N]}};
reply(N) when N rem 5 =:= 1 -> {N, binary:copy(<<N>>, N)};
reply(N) when N rem 5 =:= 2 -> {N, lists:seq(1, 3 * N)};
reply(N) when N rem 5 =:= 3 -> #{N => lists:duplicate(N, {N, <<N:64>>})};
reply(N) -> [N | <<1:3>>].
