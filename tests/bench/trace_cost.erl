%% What tracing costs, for trace_cost.py: each line is a name and nanoseconds.
-module(trace_cost).
-export([main/1, start/0, f/1]).

-define(CALLS, 20000).
-define(ROUNDS, 25).

start() -> main([]).

main(Args) ->
    put(recorder, lists:member("recorder", Args)),
    Cases = [{"base", nothing()} | cases()] ++ [{"gone", nothing()}],
    %% Each round has all cases: a time in which the machine is slow takes none of them as a whole.
    Rounds = [[round_of(Case) || {_, Case} <- Cases] || _ <- lists:seq(1, ?ROUNDS)],
    [Base | Times] = [lists:min(Column) || Column <- columns(Rounds)],
    io:format("base ~.2f~n", [Base]),
    [io:format("~s ~.2f~n", [Name, Time - Base]) || {{Name, _}, Time} <- lists:zip(tl(Cases), Times)],
    change_one(),
    change_many(),
    halt(0).

columns([[] | _]) -> [];
columns(Rows) -> [[hd(R) || R <- Rows] | columns([tl(R) || R <- Rows])].

cases() ->
    Fails = [{['$1'], [{'<', '$1', 0}], []}],
    Returns = [{'_', [], [{return_trace}]}],
    [{"set_untraced", pattern(true, [local], untraced)},
     {"call", pattern(true, [local], traced)},
     {"spec_fails", pattern(Fails, [local], traced)},
     {"return_trace", pattern(Returns, [local], traced)},
     {"call_count", pattern(true, [call_count], untraced)},
     {"call_time", pattern(true, [call_time], traced)}]
     ++ case get(recorder) of
            true -> [{"call_memory", pattern(true, [call_memory], traced)},
                     {"session_call", session(true)}, {"session_return", session(Returns)}];
            false -> []
        end.

nothing() -> {fun() -> ok end, fun() -> ok end, untraced}.
pattern(Spec, Flags, Who) ->
    {fun() -> 1 = erlang:trace_pattern({?MODULE, f, 1}, Spec, Flags) end,
     fun() -> 1 = erlang:trace_pattern({?MODULE, f, 1}, false, Flags) end, Who}.

%% In a session of its own, as a prompt traces.
session(Spec) ->
    {fun() ->
             put(session, trace:session_create(?MODULE, {flight_recorder, []}, [])),
             1 = trace:function(get(session), {?MODULE, f, 1}, Spec, [local])
     end,
     fun() -> true = trace:session_destroy(get(session)) end, session}.

%% Nanoseconds a call.
round_of({Set, Clear, Who}) ->
    Set(),
    Self = self(),
    Recorder = get(recorder),
    Pid = spawn_link(fun() -> receive go -> ok end, Self ! {self(), timed()} end),
    Tracer = case Who of
                 untraced -> none;
                 session -> 1 = trace:process(get(session), Pid, true, [call]), none;
                 traced when Recorder -> erlang:trace(Pid, true, [call, {tracer, flight_recorder, []}]), none;
                 traced -> T = spawn_link(fun drop/0), erlang:trace(Pid, true, [call, {tracer, T}]), T
             end,
    Pid ! go,
    Time = receive {Pid, R} -> R end,
    Clear(),
    is_pid(Tracer) andalso begin unlink(Tracer), exit(Tracer, kill) end,
    Time.
drop() -> receive _ -> drop() end.

timed() ->
    loop(1000),
    Began = erlang:monotonic_time(nanosecond),
    loop(?CALLS),
    (erlang:monotonic_time(nanosecond) - Began) / ?CALLS.
loop(0) -> ok;
loop(N) -> f(N), loop(N - 1).
f(X) -> X.

change_one() ->
    Times = [time_of(fun() ->
                         erlang:trace_pattern({?MODULE, f, 1}, true, [local]),
                         erlang:trace_pattern({?MODULE, f, 1}, false, [local])
                     end) || _ <- lists:seq(1, 500)],
    io:format("set_clear_one ~.2f~n", [median(Times)]).

change_many() ->
    trace_cost_many:module_info(),
    Times = [begin
                 Set = time_of(fun() -> erlang:trace_pattern({trace_cost_many, '_', '_'}, true, [local]) end),
                 Clear = time_of(fun() -> erlang:trace_pattern({trace_cost_many, '_', '_'}, false, [local]) end),
                 {Set, Clear}
             end || _ <- lists:seq(1, 25)],
    {Sets, Clears} = lists:unzip(Times),
    io:format("set_many ~.2f~nclear_many ~.2f~n", [median(Sets), median(Clears)]).

time_of(F) ->
    Began = erlang:monotonic_time(nanosecond),
    F(),
    float(erlang:monotonic_time(nanosecond) - Began).
median(L) -> lists:nth((length(L) + 1) div 2, lists:sort(L)).
