%% Tens of thousands of calls that have not returned, each with a frame of its trace: all returns are told. So are
%% those of as many calls in tail position, with the flag return_to once. Not more than 10,000 if nobody asks for them.
-module(trace_deep_returns).
-export([start/0, deep/1, tail/1]).

start() ->
    catch minivm:trace_frames(100000),  % OTP has no limit
    [run(Function, Flags, How) || Function <- [deep, tail], {Flags, How} <- [{[call], [local]},
                                                                              {[call, return_to], [local]},
                                                                              {[], [meta]}]].

run(Function, Flags, How) ->
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> {?MODULE:Function(30000)} end end),
    Flags =/= [] andalso erlang:trace(Pid, true, Flags),
    erlang:trace_pattern({?MODULE, Function, 1}, [{'_', [], [{return_trace}]}], How),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    erlang:trace_pattern({?MODULE, Function, 1}, false, How),
    io:format("~w ~w ~w ~w~n", [Function, Flags, How,
                                lists:sort(maps:to_list(count(Pid, erlang:trace_delivered(all), #{})))]).

count(Pid, Delivered, Counts) ->
    receive
        {trace_delivered, all, Delivered} -> Counts;
        Event when element(2, Event) =:= Pid ->
            count(Pid, Delivered, maps:update_with(element(3, Event), fun(N) -> N + 1 end, 1, Counts))
    end.

deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).

tail(0) -> 0;
tail(N) -> tail(N - 1).
