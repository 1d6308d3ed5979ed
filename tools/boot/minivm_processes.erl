%% What erlang:system_info(procs) says of all processes, in the form of OTP's crash dump.
-module(minivm_processes).
-export([text/0]).

text() ->
    unicode:characters_to_binary([process(Pid) || Pid <- erlang:processes()]).

process(Pid) ->
    Items = [status, registered_name, initial_call, parent, message_queue_len, links, reductions, heap_size,
             total_heap_size, stack_size, memory, backtrace],
    case process_info(Pid, Items) of
        undefined -> [];
        Info ->
            Of = fun(Item) -> {_, Value} = lists:keyfind(Item, 1, Info), Value end,
            ["=proc:", pid_to_list(Pid), "\nState: ", capital(Of(status)), $\n,
             case Of(registered_name) of
                 [] -> [];
                 Name -> ["Name: ", atom_to_list(Name), $\n]
             end,
             "Spawned as: ", mfa(Of(initial_call)), "\nSpawned by: ", parent(Of(parent)),
             "\nMessage queue length: ", integer_to_list(Of(message_queue_len)), $\n,
             case Of(links) of
                 [] -> [];
                 [First | More] ->
                     ["Link list: [", name(First), [[", ", name(L)] || L <- More], "]\n"]
             end,
             "Reductions: ", integer_to_list(Of(reductions)),
             "\nStack+heap: ", integer_to_list(Of(total_heap_size)),
             "\nHeap: ", integer_to_list(Of(heap_size)),
             "\nMemory: ", integer_to_list(Of(memory)),
             "\nStack dump:\n", Of(backtrace)]
    end.

capital(Status) ->
    [First | More] = atom_to_list(Status),
    [First - $a + $A | More].

mfa({M, F, A}) -> [atom_to_list(M), $:, atom_to_list(F), $/, integer_to_list(A)].

parent(undefined) -> "[]";
parent(Pid) -> pid_to_list(Pid).

name(Pid) when is_pid(Pid) -> pid_to_list(Pid);
name(Port) -> port_to_list(Port).
