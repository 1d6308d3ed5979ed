%% safe_fixtable while objects come and go; walks, chunks, foldl over a table that changes.
-module(ets_fixed).
-export([main/1]).

main(_) ->
    [walk(Type) || Type <- [set, bag, duplicate_bag, ordered_set]],
    info(), chunks(), big().

walk(Type) ->
    T = ets:new(t, [Type]),
    ets:insert(T, [{I, I} || I <- lists:seq(1, 1000)]),
    %% Each key is met once although every second one is deleted and new ones are inserted.
    ets:safe_fixtable(T, true),
    Seen = step(T, ets:first(T), []),
    ets:safe_fixtable(T, false),
    io:format("~p ~p ~p ~p~n", [Type, lists:sort([K || K <- Seen, K =< 1000]) =:= lists:seq(1,
            1000), ets:info(T, size),
                                length(ets:tab2list(T))]),
    ets:safe_fixtable(T, true),
    ets:delete_all_objects(T),
    io:format("~p ~p ~p~n", [ets:info(T, size), ets:tab2list(T), ets:first(T)]),
    ets:insert(T, [{2, again}, {4, again}]),
    io:format("~p~n", [lists:sort(ets:tab2list(T))]),
    ets:delete(T, 2),
    io:format("~p ~p~n", [ets:lookup(T, 2), ets:insert_new(T, {2, x})]),
    ets:safe_fixtable(T, false),
    io:format("~p~n", [lists:sort(ets:tab2list(T))]),
    ets:delete(T).

step(_, '$end_of_table', Seen) -> Seen;
step(T, K, Seen) ->
    case K rem 2 of
        0 -> ets:delete(T, K);
        1 when K < 1000 -> ets:insert(T, {K + 100000, new}), ets:insert(T, {K, changed});
        1 -> ok
    end,
    step(T, ets:next(T, K), [K | Seen]).

info() ->
    T = ets:new(t, [public]),
    Self = self(),
    io:format("~p~n", [[ets:info(T, I) || I <- [fixed, safe_fixed, safe_fixed_monotonic_time]]]),
    ets:safe_fixtable(T, true), ets:safe_fixtable(T, true),
    {{_, _, _}, Fixed} = ets:info(T, safe_fixed),
    {Since, _} = ets:info(T, safe_fixed_monotonic_time),
    io:format("~p ~p ~p~n", [ets:info(T, fixed), Fixed =:= [{Self, 2}],
            Since =< erlang:monotonic_time()]),
    %% A process that ends lets go.
    {Pid, M} = spawn_monitor(fun() -> ets:safe_fixtable(T, true), Self ! {self(), ets:info(T,
            safe_fixed)}, receive go -> ok end end),
    receive {Pid, {_, Both}} -> io:format("~p~n", [lists:sort([N || {_, N} <- Both])]) end,
    Pid ! go,
    receive {'DOWN', M, process, Pid, normal} -> ok end,
    {_, Left} = ets:info(T, safe_fixed),
    io:format("~p~n", [length(Left)]),
    ets:safe_fixtable(T, false),
    io:format("~p~n", [ets:info(T, fixed)]),
    ets:safe_fixtable(T, false),
    io:format("~p~n", [ets:info(T, fixed)]),
    ets:safe_fixtable(T, false),
    io:format("~p~n", [ets:info(T, safe_fixed)]).

chunks() ->
    T = ets:new(t, []),
    ets:insert(T, [{I, I} || I <- lists:seq(1, 500)]),
    ets:safe_fixtable(T, true),
    {L, C} = ets:select(T, [{{'$1', '_'}, [], ['$1']}], 50),
    [ets:delete(T, I) || I <- lists:seq(1, 500, 3)],
    Rest = rest(ets:select(C)),
    ets:safe_fixtable(T, false),
    Gone = [I || I <- lists:seq(1, 500, 3)],
    io:format("~p ~p~n", [lists:sort(L ++ Rest) =:= lists:usort(L ++ Rest), (lists:seq(1,
            500) -- Gone) -- (L ++ Rest)]),
    io:format("~p~n", [ets:foldl(fun({K, _}, A) -> ets:delete(T, K), A + 1 end, 0, T)]),
    io:format("~p~n", [ets:info(T, size)]).

rest('$end_of_table') -> [];
rest({L, C}) -> L ++ rest(ets:select(C)).

%% Long walks give others a turn; what is inserted and deleted meanwhile does no harm.
big() ->
    [begin
         T = ets:new(t, [Type, public]),
         ets:insert(T, [{I, I rem 7, [I]} || I <- lists:seq(1, 60000)]),
         Pid = spawn_link(fun() -> churn(T, 100000) end),
         L = ets:select(T, [{{'$1', '$2', '_'}, [{'=<', '$1', 60000}], [{{'$1', '$2'}}]}]),
         Pid ! stop,
         io:format("~p ~p ~p~n", [Type, length(L), erlang:phash2(lists:sort(L))]),
         receive {churned, _} -> ok end,
         io:format("~p~n", [ets:select_count(T, [{{'$1', 3, '_'}, [{'=<', '$1', 60000}],
                 [true]}])]),
         io:format("~p~n", [ets:select_replace(T, [{{'$1', 3, '$2'}, [{'=<', '$1', 60000}],
                 [{{'$1', three, '$2'}}]}])]),
         io:format("~p~n", [ets:select_count(T, [{{'$1', three, '_'}, [], [true]}])]),
         io:format("~p~n", [ets:select_delete(T, [{{'$1', '$2', '_'}, [{'=/=', '$2', three}],
                 [true]}])
                            >= 60000 - 60000 div 7 - 1]),
         io:format("~p ~p~n", [ets:info(T, size), length(ets:tab2list(T))]),
         ets:delete(T)
     end || Type <- [set, ordered_set, duplicate_bag]].

churn(T, I) ->
    receive
        stop -> hd([P || {_, P} <- [{x, ets:info(T, owner)}]]) ! {churned, I}
    after 0 ->
        ets:insert(T, {I, x, []}),
        ets:delete(T, I - 50),
        churn(T, I + 1)
    end.
