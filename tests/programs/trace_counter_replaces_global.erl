%% Counters and meta traces are local: they take the place of a trace of global calls, and the other way
%% round. Clearing one kind leaves the other.
-module(trace_counter_replaces_global).
-export([main/1, f/1]).

f(X) -> X.

main(_) ->
    MFA = {?MODULE, f, 1},
    [begin
         1 = erlang:trace_pattern(MFA, How, [Kind]),
         {all, Info} = erlang:trace_info(MFA, all),
         {meta, Meta} = erlang:trace_info(MFA, meta),
         Shown = case Info of
                     false -> false;
                     _ -> lists:keyreplace(meta, 1, Info, {meta, Meta =:= self()})
                 end,
         io:format("~p ~p: ~p~n", [How, Kind, Shown])
     end || {How, Kind} <- [{true, global}, {true, call_count}, {true, global}, {true, meta},
                            {true, global}, {false, call_count}, {false, local}, {true, local},
                            {true, global}, {true, local}, {false, global}, {false, local}]].
