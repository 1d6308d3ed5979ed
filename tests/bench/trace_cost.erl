%% What tracing costs, for trace_cost.py: each line is a name and nanoseconds.
-module(trace_cost).
-export([main/1, start/0, f/1]).

-define(MODULES, 200).  % of FUNCTIONS of trace_cost.py
-define(CALLS, 20000).
-define(ROUNDS, 25).

start() -> main([]).

main(Args) ->
    put(recorder, lists:member("recorder", Args)),
    %% Each case beside the same calls that nothing traces. Each round has all cases: a time in which the
    %% machine is slow takes none of them as a whole.
    Cases = [{"base", local, nothing()}, {"global_base", global, nothing()}]
        ++ [{Name, local, Case} || {Name, Case} <- cases() ++ [{"gone", nothing()}]]
        ++ [{Name, global, Case} || {Name, Case} <- global_cases()],
    Rounds = [[round_of(Case, Calls) || {_, Calls, Case} <- Cases] || _ <- lists:seq(1, ?ROUNDS)],
    Times = [lists:min(Column) || Column <- columns(Rounds)],
    [Local, Global | _] = Times,
    Base = fun(local) -> Local; (global) -> Global end,
    io:format("base ~.2f~nglobal_base ~.2f~n", [Local, Global]),
    [io:format("~s ~.2f~n", [Name, Time - Base(Calls)])
     || {{Name, Calls, _}, Time} <- lists:nthtail(2, lists:zip(Cases, Times))],
    change_one(),
    change_many(),
    change_all(),
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

%% Of calls by the module's name.
global_cases() ->
    Fails = [{['$1'], [{'<', '$1', 0}], []}],
    Returns = [{'_', [], [{return_trace}]}],
    [{"global_untraced", pattern(true, [global], untraced)},
     {"global_call", pattern(true, [global], traced)},
     {"global_spec_fails", pattern(Fails, [global], traced)},
     {"global_return_trace", pattern(Returns, [global], traced)}].

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
round_of({Set, Clear, Who}, Calls) ->
    Set(),
    Self = self(),
    Recorder = get(recorder),
    Pid = spawn_link(fun() -> receive go -> ok end, Self ! {self(), timed(Calls)} end),
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

timed(Calls) ->
    loop(Calls, 1000),
    Began = erlang:monotonic_time(nanosecond),
    loop(Calls, ?CALLS),
    (erlang:monotonic_time(nanosecond) - Began) / ?CALLS.
loop(local, N) -> loop(N);
loop(global, N) -> global_loop(N).
loop(0) -> ok;
loop(N) -> f(N), loop(N - 1).
global_loop(0) -> ok;
global_loop(N) -> ?MODULE:f(N), global_loop(N - 1).
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

%% Whatever is loaded besides is changed as well: as many functions as there are in one module above.
change_all() ->
    [(list_to_atom("trace_cost_all" ++ integer_to_list(M))):module_info() || M <- lists:seq(1, ?MODULES)],
    [begin
         Times = [begin
                      Set = scaled(fun() -> erlang:trace_pattern({'_', '_', '_'}, true, [Kind]) end),
                      Clear = scaled(fun() -> erlang:trace_pattern({'_', '_', '_'}, false, [Kind]) end),
                      {Set, Clear}
                  end || _ <- lists:seq(1, 25)],
         {Sets, Clears} = lists:unzip(Times),
         io:format("set_all_~s ~.2f~nclear_all_~s ~.2f~n", [Kind, median(Sets), Kind, median(Clears)])
     end || Kind <- [local, global]].
scaled(F) ->
    Began = erlang:monotonic_time(nanosecond),
    Functions = F(),
    (erlang:monotonic_time(nanosecond) - Began) * 10000 / Functions.

time_of(F) ->
    Began = erlang:monotonic_time(nanosecond),
    F(),
    float(erlang:monotonic_time(nanosecond) - Began).
median(L) -> lists:nth((length(L) + 1) div 2, lists:sort(L)).
