%% Processes that wait for a dirty scheduler get one by their priority.
-module(dirty_priorities).
-export([main/1]).

main(_) ->
    [io:format("~p~n", [first_of(Priorities)]) ||
        Priorities <- [[low, normal], [normal, high, max, low]]].

%% All dirty schedulers are taken; the processes queue up; one scheduler becomes free, and then the next.
first_of(Priorities) ->
    Taken = [hold(normal) || _ <- lists:seq(1, erlang:system_info(dirty_io_schedulers))],
    [alive() || _ <- Taken],
    Waiting = [begin
                   Pid = hold(Priority),
                   wait_until(fun() -> lists:last(statistics(run_queue_lengths_all)) =:= N end),
                   {Pid, Priority}
               end || {N, Priority} <- lists:zip(lists:seq(1, length(Priorities)), Priorities)],
    {Ends, Others} = lists:split(1, Taken),
    Order = in_order(Ends, Waiting, length(Waiting)),
    [ended(Pid) || Pid <- Others],
    Order.

in_order([End], _, 0) -> ended(End), [];
in_order([End], Waiting, N) ->
    ended(End),
    {alive, Pid} = alive(),
    {Pid, Priority} = lists:keyfind(Pid, 1, Waiting),
    [Priority | in_order([Pid], Waiting, N - 1)].

hold(Priority) ->
    Self = self(),
    spawn_opt(fun() -> erts_debug:dirty_io(alive_waitexiting, Self) end, [{priority, Priority}]).

alive() -> receive {alive, _} = Alive -> Alive end.

ended(Pid) ->
    Ref = monitor(process, Pid),
    exit(Pid, kill),
    receive {'DOWN', Ref, _, _, _} -> ok end.

wait_until(Done) ->
    case Done() of
        true -> ok;
        false -> erlang:yield(), wait_until(Done)
    end.
