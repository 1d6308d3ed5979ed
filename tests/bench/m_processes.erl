%% Rates of processes: spawns and messages per second, and hops around a ring of 100,000 of them.
-module(m_processes).
-export([main/1]).

-define(RING, 100000).
-define(SPAWNS, 200000).
-define(MESSAGES, 300000).

main(_) ->
    {Spawn, _} = timed(fun() -> spawns(?SPAWNS) end),
    report("spawn_per_s", rate(?SPAWNS, Spawn)),
    {Send, _} = timed(fun() -> round_trips(?MESSAGES) end),
    report("send_per_s", rate(?MESSAGES, Send)),
    Self = self(),
    First = lists:foldl(fun(_, Next) -> spawn(fun() -> pass(Next) end) end, Self,
                        lists:seq(1, ?RING)),
    {Ring, ?RING} = timed(fun() -> First ! 0, receive N -> N end end),
    report("ring_per_s", rate(?RING, Ring)).

timed(F) ->
    Start = erlang:monotonic_time(),
    Result = F(),
    {erlang:convert_time_unit(erlang:monotonic_time() - Start, native, microsecond), Result}.

rate(N, Microseconds) -> N * 1000000 div max(1, Microseconds).

report(Key, Value) -> io:format("~s ~b~n", [Key, Value]).

%% At most a thousand live at a time: this measures birth and death, not memory.
spawns(0) -> ok;
spawns(N) ->
    Self = self(),
    [spawn(fun() -> Self ! done end) || _ <- lists:seq(1, 1000)],
    [receive done -> ok end || _ <- lists:seq(1, 1000)],
    spawns(N - 1000).

%% There and back counts as one.
round_trips(N) ->
    Self = self(),
    Echo = spawn_link(fun() -> echo(Self) end),
    trips(Echo, N).

trips(Echo, 0) -> Echo ! stop, ok;
trips(Echo, N) -> Echo ! ping, receive pong -> trips(Echo, N - 1) end.

echo(To) -> receive ping -> To ! pong, echo(To); stop -> ok end.

pass(Next) -> receive N -> Next ! N + 1 end.
