%% The least sizes of a process's heap and virtual binary heap: not below the machine's, and of those that heaps have.
-module(proc_least_heap_sizes).
-export([main/1]).

main(_) ->
    Sizes = [0, 1, 12, 13, 38, 232, 233, 234, 376, 377, 1000, 4000, 32768, 46421, 46422, 46423, 75113, 75114, 100000,
             1727066, 2000000],
    set(Sizes),
    %% The machine's own are what is least.
    io:format("~p~n", [{erlang:system_flag(min_heap_size, 1000), erlang:system_flag(min_bin_vheap_size, 100000)}]),
    set(Sizes),
    io:format("~p~n", [{erlang:system_flag(min_heap_size, 0), erlang:system_flag(min_bin_vheap_size, 0)}]),
    set(Sizes),
    io:format("~p~n", [{erlang:system_info(min_heap_size), erlang:system_info(min_bin_vheap_size)}]),
    [io:format("~p ~p ~p~n", [Flag, V, try process_flag(Flag, V) catch C:E -> {C, E} end])
     || Flag <- [min_heap_size, min_bin_vheap_size], V <- [-1, a, 1 bsl 60]],
    [io:format("~p ~p~n", [V, try spawn_opt(fun() -> ok end, [V]) catch C:E -> {C, E} end])
     || V <- [{min_bin_vheap_size, -1}, {min_bin_vheap_size, a}, {min_bin_vheap_size, 1 bsl 60}]],
    %% Without one of some others min_bin_vheap_size does nothing.
    [begin
         Self = self(),
         Pid = spawn_opt(fun() -> Self ! {self(), process_info(self(), [min_heap_size, min_bin_vheap_size])} end, Options),
         receive {Pid, Told} -> io:format("~p ~p~n", [Options, Told]) end
     end || More <- [[], [link], [{message_queue_data, off_heap}], [{min_heap_size, 1000}], [{priority, normal}],
                     [{fullsweep_after, 3}], [{max_heap_size, 300000}], [{scheduler, 1}]],
            Options <- [[{min_bin_vheap_size, 100000} | More], More]],
    process_flag(min_bin_vheap_size, 1 bsl 40),
    io:format("~p~n", [process_flag(min_bin_vheap_size, 1)]).

set(Sizes) ->
    [begin
         process_flag(min_heap_size, N),
         process_flag(min_bin_vheap_size, N),
         io:format("~w: ~w~n", [N, {process_flag(min_heap_size, 1), process_flag(min_bin_vheap_size, 1)}]),
         Self = self(),
         Items = [min_heap_size, min_bin_vheap_size],
         Pid = spawn_opt(fun() -> Self ! {self(), process_info(self(), Items)} end, [{I, N} || I <- Items]),
         receive {Pid, Told} -> io:format("    ~w~n", [Told]) end
     end || N <- Sizes].
