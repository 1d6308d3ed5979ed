%% A receive goes past hundreds of messages, more than are taken onto the heap, with guards that allocate
%% while one is looked at; what is left is as it was sent.
-module(receive_skips_many).
-export([main/1]).

main(_) ->
    Parent = self(),
    Pid = spawn_link(fun() -> receive go -> ok end, Parent ! {self(), picks(), rest(0, [])} end),
    [Pid ! {item, N, lists:seq(N, N + 20), {deep, [{N}, <<N:64>>]}} || N <- lists:seq(1, 400)],
    Pid ! go,
    receive {Pid, Picked, {Count, Sum}} -> io:format("~w ~w ~w~n", [Picked, Count, Sum]) end.

picks() ->
    [receive
         {item, N, L, {deep, [{N}, B]}} when N * 1180591620717411303424 > Limit * 1180591620717411303424,
                                             length(L) + N rem 7 =:= 21 + Limit rem 7 ->
             {N, hd(L), B}
     after 0 -> none
     end || Limit <- [399, 200, 3, 150, 400, 64, 65, 66]].

rest(Count, Sums) ->
    receive
        {item, N, L, {deep, [{N}, <<N:64>>]}} -> rest(Count + 1, [lists:sum(L) | Sums])
    after 0 -> {Count, lists:sum(Sums)}
    end.
