%% A process that is its own tracer has the flags, its calls count, its children inherit, and it is told nothing of itself.
-module(trace_self).
-export([main/1, f/1]).

f(X) -> X.

main(_) ->
    1 = erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{return_trace}]}], [local]),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [call_count]),
    1 = erlang:trace_pattern({?MODULE, f, 1}, true, [call_time]),
    in_own(fun() -> erlang:trace(self(), true, [call]) end),
    in_own(fun() -> erlang:trace(self(), true, [call, send, 'receive', procs, running, timestamp, {tracer, self()}]) end),
    in_own(fun() -> [erlang:trace(self(), true, [call]), erlang:trace(self(), false, [call])] end),
    in_own(fun() -> [erlang:trace(self(), true, [call, send]), erlang:trace(self(), false, [send])] end),
    in_own(fun() -> erlang:trace(self(), true, [call, set_on_spawn]), work_of_child() end),
    in_own(fun() -> erlang:trace(self(), true, [procs, set_on_link]), work_of_child() end),
    in_own(fun() -> erlang:trace(self(), true, [call]), acts() end),
    in_own(fun() -> N = erlang:trace(all, true, [call]), N > 3 end),
    in_own(fun() -> N = erlang:trace(existing, true, [arity]), N > 3 end),
    in_own(fun() -> erlang:trace(new, true, [arity]) end).

in_own(Fun) ->
    erlang:trace_pattern({?MODULE, f, 1}, restart, [call_count, call_time]),
    Me = self(),
    {Pid, Ref} = spawn_monitor(fun() ->
        Result = Fun(),
        f(1), f(f(2)), self() ! hello, receive hello -> ok end,
        timer:sleep(1),
        Info = [{I, T} || {I, T} <- [erlang:trace_info(self(), I) || I <- [flags, tracer]]],
        Calls = erlang:trace_info({?MODULE, f, 1}, call_count),
        {call_time, Times} = erlang:trace_info({?MODULE, f, 1}, call_time),
        Me ! {self(), Result, Info, Calls, [N || {P, N, _, _} <- Times, P =:= self()], messages()}
    end),
    receive {Pid, Result, Info, Calls, Times, Messages} -> show(Pid, {Result, Info, Calls, Times}), [show(Pid, M) || M <- Messages] end,
    erlang:trace(all, false, [all]),
    receive {'DOWN', Ref, process, Pid, Reason} -> show(Pid, Reason) end,
    (fun Rest() -> receive _ -> Rest() after 0 -> ok end end)().

work_of_child() ->
    {P, R} = spawn_monitor(fun() -> f(3) end),
    receive {'DOWN', R, process, P, normal} -> ok end,
    Q = spawn_link(fun() -> f(4), receive stop -> ok end end),
    Ref = monitor(process, Q),
    Q ! stop,
    receive {'DOWN', Ref, process, Q, normal} -> ok end,
    D = erlang:trace_delivered(all),
    receive {trace_delivered, all, D} -> ok end.

%% A specification is not run for who would be told nothing.
acts() ->
    1 = erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{silent, true}, {return_trace}]}], [local]),
    f(5),
    1 = erlang:trace_pattern({?MODULE, f, 1}, [{'_', [], [{return_trace}]}], [local]),
    erlang:trace_info(self(), flags).

messages() ->
    receive M -> [M | messages()] after 50 -> [] end.

show(Pid, T) -> io:format("~p~n", [plain(Pid, T)]).
plain(Pid, Pid) -> self;
plain(_, P) when is_pid(P) -> pid;
plain(_, R) when is_reference(R) -> ref;
plain(_, F) when is_function(F) -> function;
plain(Pid, [H | T]) -> [plain(Pid, H) | plain(Pid, T)];
plain(Pid, T) when is_tuple(T) -> list_to_tuple([plain(Pid, E) || E <- tuple_to_list(T)]);
plain(_, T) -> T.
