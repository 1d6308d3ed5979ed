%% max_heap_size: a process that has more is killed, or may go on.
-module(proc_max_heap).
-export([main/1]).

main(_) ->
    Grow = fun() -> grow([], 0) end,
    Message = fun() -> receive M -> erlang:garbage_collect(), M end, receive after infinity -> ok end end,
    Opt = fun(Map) -> {max_heap_size, Map#{error_logger => false}} end,
    io:format("~p~n", [ended(Grow, [Opt(#{size => 10000})])]),
    io:format("~p~n", [ended(Grow, [Opt(#{size => 10000, kill => true})])]),
    io:format("~p~n", [ended(Grow, [Opt(#{size => 10000, kill => false})])]),
    io:format("~p~n", [ended(Grow, [Opt(#{size => 0})])]),
    io:format("~p~n", [ended(Grow, [Opt(#{size => 10000000})])]),
    io:format("~p~n", [ended(fun() -> process_flag(max_heap_size, #{size => 5000, error_logger => false}),
                                      process_flag(trap_exit, true), Grow() end, [])]),
    {P, R} = spawn_opt(Message, [monitor, Opt(#{size => 5000})]),
    P ! lists:seq(1, 100000),
    io:format("~p~n", [receive {'DOWN', R, process, P, Why} -> Why end]),
    io:format("~p~n", [process_flag(max_heap_size, #{size => 1000000, kill => false})]),
    io:format("~p~n", [process_info(self(), max_heap_size)]),
    io:format("~p~n", [process_flag(max_heap_size, 0)]),
    io:format("~p~n", [erlang:system_info(max_heap_size)]),
    [io:format("~p~n", [try process_flag(max_heap_size, V) catch C:E -> {C, E} end]) ||
        V <- [10, -1, a, #{}, #{size => 10}, #{size => 0, kill => 1}, #{kill => true}]],
    below_the_least_heap(),
    new_processes_have_the_defaults().

%% The key include_shared_binaries is of OTP 26; before that nobody looks at it.
new_processes_have_the_defaults() ->
    Show = fun(Options) ->
                   P = spawn_opt(fun() -> receive stop -> ok end end, Options),
                   io:format("~p~n", [process_info(P, max_heap_size)]),
                   P ! stop
           end,
    Shared = fun(Flag) -> #{size => 0, kill => true, include_shared_binaries => Flag} end,
    Old = [erlang:system_flag(max_heap_size, #{size => 0, kill => false})],
    Show([]),
    Show([{max_heap_size, #{size => 100000, kill => true}}]),
    Set = [erlang:system_flag(max_heap_size, Shared(true))],
    Show([]),
    Show([{max_heap_size, 100000}]),
    Show([{max_heap_size, Shared(false)}]),
    io:format("~p~n", [erlang:system_info(max_heap_size)]),
    Last = [erlang:system_flag(max_heap_size, Shared(false))],
    Show([{max_heap_size, Shared(true)}]),
    Show([]),
    io:format("~p~n", [[Old, Set, Last]]).

below_the_least_heap() ->
    End = fun() -> ok end,
    [io:format("~p~n", [try spawn_opt(End, Options) of P when is_pid(P) -> spawned catch C:E -> {C, E} end]) ||
        Options <- [[{min_heap_size, 10000}, {max_heap_size, 5000}], [{max_heap_size, 5000}, {min_heap_size, 10000}],
                    [{min_heap_size, 5000}, {max_heap_size, 10000}], [{min_heap_size, 10000}, {max_heap_size, 10000}],
                    [{max_heap_size, 10}], [{max_heap_size, 0}, {min_heap_size, 10000}]]],
    process_flag(min_heap_size, 10000),
    %% With a limit that is no larger than the least size, the next collection would end the process.
    [io:format("~p~n", [try process_flag(max_heap_size, #{size => N, kill => false, error_logger => false})
                        catch C:E -> {C, E}
                        end]) || N <- [5000, 10000, 100000, 0]].

ended(F, Options) ->
    {P, R} = spawn_opt(F, [monitor | Options]),
    receive {'DOWN', R, process, P, Why} -> Why end.

grow(L, 100000) -> exit({ready, length(L)});
grow(L, N) -> grow([N | L], N + 1).
