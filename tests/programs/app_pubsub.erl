%% Publish and subscribe: topics, dead subscribers leave by their monitors, order kept per
%% publisher.
-module(app_pubsub).
-export([main/1]).

main(_) ->
    Hub = spawn_link(fun() -> hub(#{}, #{}) end),
    Self = self(),
    Subs = [spawn(fun() -> subscriber(Hub, Topics, Self, []) end)
            || Topics <- [[news], [news, sport], [sport], [none], [news, weather]]],
    [receive {ready, S} -> ok end || S <- Subs],
    [Hub ! {publish, T, {T, N}} || N <- lists:seq(1, 100), T <- [news, sport, weather, unheard]],
    kill(lists:nth(2, Subs)),
    wait_for(Hub, {sport, 1}),
    [Hub ! {publish, news, {late, N}} || N <- [1, 2, 3]],
    io:format("~p~n", [sync(Hub)]),
    [S ! {report, Self} || S <- Subs],
    [io:format("~p ~p ~p~n", [length(Ms), ordered([N || {news, N} <- Ms]),
                              lists:sublist(lists:reverse(Ms), 3)]) || S <- Subs,
     S =/= lists:nth(2, Subs), Ms <- [receive {report, S, M} -> M end]],
    Hub ! stop.

kill(P) -> R = monitor(process, P), exit(P, kill), receive {'DOWN', R, _, _, _} -> ok end.
%% Who else hears of a death hears of it in any order: ask until the hub knows.
wait_for(Hub, Count) ->
    case lists:member(Count, sync(Hub)) of
        true -> ok;
        false -> wait_for(Hub, Count)
    end.
sync(Hub) -> Hub ! {count, self()}, receive {count, C} -> C end.
ordered(L) -> L =:= lists:sort(L).

subscriber(Hub, Topics, Main, []) ->
    [begin Hub ! {subscribe, T, self()}, receive {subscribed, T} -> ok end end || T <- Topics],
    Main ! {ready, self()}, collect([]).
collect(Acc) -> receive {event, E} -> collect([E | Acc]); {report, To} ->
                    To ! {report, self(), lists:reverse(Acc)} end.

hub(Topics, Refs) ->
    receive
        {subscribe, T, P} ->
            R = monitor(process, P), P ! {subscribed, T},
            hub(maps:update_with(T, fun(L) -> [P | L] end, [P], Topics), Refs#{R => {T, P}});
        {publish, T, E} -> [P ! {event, E} || P <- maps:get(T, Topics, [])], hub(Topics, Refs);
        {'DOWN', R, process, P, killed} -> {{T, P}, Refs1} = maps:take(R, Refs),
            hub(maps:update_with(T, fun(L) -> lists:delete(P, L) end, Topics), Refs1);
        {count, From} -> From ! {count,
                                 lists:sort([{T, length(L)} || {T, L} <- maps:to_list(Topics)])},
            hub(Topics, Refs);
        stop -> ok
    end.
