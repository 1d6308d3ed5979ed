%% persistent_term:get/0 is charged for its length. Who called it in a loop kept its turn for seconds: processes that
%% were killed did not end, and others waited.
-module(persistent_term_get_all_is_work).
-export([main/1]).

main(_) ->
    [persistent_term:put({?MODULE, N}, N) || N <- lists:seq(1, 20000)],
    {reductions, R0} = process_info(self(), reductions),
    All = persistent_term:get(),
    {reductions, R1} = process_info(self(), reductions),
    io:format("~p ~p~n", [length([K || {{?MODULE, _} = K, _} <- All]), R1 - R0 > 10000]),
    Ends = [begin
                Started = [spawn_monitor(fun getter/0) || _ <- lists:seq(1, 20)],
                erlang:yield(),
                [exit(Pid, kill) || {Pid, _} <- Started],
                [receive {'DOWN', Ref, process, _, Reason} -> Reason end || {_, Ref} <- Started]
            end || _ <- lists:seq(1, 5)],
    io:format("~p~n", [lists:usort(lists:append(Ends))]),
    [persistent_term:erase({?MODULE, N}) || N <- lists:seq(1, 100)].

getter() ->
    _ = persistent_term:get(),
    getter().
