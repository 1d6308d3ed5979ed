%% A process that is in a dirty function, here reading from a pipe that nobody writes to, is looked at all
%% the same. Asking it waited for the function to end.
-module(proc_info_dirty).
-export([main/1, read/2]).

main(_) ->
    Fifo = "proc_info_dirty.fifo",
    _ = file:delete(Fifo),
    "" = os:cmd("mkfifo " ++ Fifo),
    Parent = self(),
    P = spawn_link(?MODULE, read, [Fifo, Parent]),
    register(the_reader, P),
    receive {P, begins} -> ok end,
    until_in_open(P),
    %% The VM asks all processes whether they refer to literals that are to be freed: that question waits.
    persistent_term:put(?MODULE, [self()]),
    persistent_term:erase(?MODULE),
    [begin {message_queue_len, 0} = process_info(P, message_queue_len), erlang:yield() end || _ <- lists:seq(1, 2000)],
    [P ! {message, N} || N <- [1, 2, 3]],
    [p(Item, process_info(P, Item)) || Item <- [registered_name, message_queue_len, messages, trap_exit, initial_call, priority, dictionary, catchlevel]],
    p(links, process_info(P, links) =:= {links, [Parent]}),
    p(leader, process_info(P, group_leader) =:= {group_leader, group_leader()}),
    {current_stacktrace, Trace} = process_info(P, current_stacktrace),
    p(stack, [{M, F, A} || {M, F, A, _} <- Trace, M =:= ?MODULE]),
    until_running(P),
    p(several, process_info(P, [message_queue_len, status])),
    p(all, lists:sort([Name || {Name, _} <- process_info(P)])),
    [p(Item, is_integer(element(2, process_info(P, Item)))) || Item <- [memory, total_heap_size, heap_size, stack_size, reductions]],
    process_flag(trap_exit, true),
    p(write, file:write_file(Fifo, "some text")),
    receive {'EXIT', P, Reason} -> p(reason, Reason) end,
    p(gone, process_info(P, status)),
    file:delete(Fifo).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).

until_in_open(P) ->
    case process_info(P, current_function) of
        {current_function, {prim_file, open_nif, 2}} -> ok;
        _ -> until_in_open(P)
    end.

%% It may still wait for a thread of its own.
until_running(P) ->
    case process_info(P, status) of
        {status, running} -> ok;
        _ -> until_running(P)
    end.

read(Fifo, Parent) ->
    process_flag(trap_exit, true),
    put(key, {"a", value}),
    Parent ! {self(), begins},
    {ok, File} = file:open(Fifo, [raw, read, binary]),
    {ok, Text} = file:read(File, 100),
    exit({read, Text, process_info(self(), message_queue_len)}).
