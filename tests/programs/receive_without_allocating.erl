%% A process that receives large messages, or binaries, and drops them in a loop that allocates nothing had
%% them all until it ended: only an instruction that needs room collects.
-module(receive_without_allocating).
-export([main/1]).

main(_) ->
    List = lists:seq(1, 200),
    Messages = [{list, fun(_) -> List end, 20000, memory, 20000000},
                {tuple, fun(_) -> list_to_tuple(List) end, 20000, memory, 20000000},
                {binaries, fun(N) -> binary:copy(<<N>>, 100000) end, 2000, binary, 1000}],
    [begin
         {P, Ref} = spawn_monitor(fun loop/0),
         Most = send(P, Message, N, What, 0),
         P ! stop,
         receive {'DOWN', Ref, _, _, Why} -> io:format("~p ~p ~p~n", [Name, Why, Most < Bound]) end
     end || {Name, Message, N, What, Bound} <- Messages].

%% The most that the receiver was seen to hold.
send(_, _, 0, _, Most) -> Most;
send(P, Message, N, What, Most) when N rem 100 =:= 0 ->
    P ! Message(N),
    P ! {self(), ok},
    receive ok -> ok end,
    Now = case process_info(P, What) of {binary, L} -> length(L); {memory, M} -> M end,
    send(P, Message, N - 1, What, max(Now, Most));
send(P, Message, N, What, Most) ->
    P ! Message(N),
    send(P, Message, N - 1, What, Most).

loop() ->
    receive
        {From, Answer} -> From ! Answer, loop();
        stop -> ok;
        _ -> loop()
    end.
