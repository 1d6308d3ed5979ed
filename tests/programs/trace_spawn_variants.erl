%% What is told of the ways to make a process, in which order: the parent's link comes before anything of the child.
-module(trace_spawn_variants).
-export([main/1]).

main(_) ->
    Ways = [{spawn, fun() -> spawn(lists, seq, [1, 2]) end}, {link, fun() -> spawn_link(lists, seq, [1, 2]) end},
            {monitor, fun() -> spawn_monitor(lists, seq, [1, 2]) end},
            {link_fun, fun() -> spawn_link(fun() -> ok end) end},
            {opt, fun() -> spawn_opt(lists, seq, [1, 2], [link, monitor]) end},
            {request, fun() -> spawn_request(lists, seq, [1, 2], []) end},
            {request_link, fun() -> spawn_request(lists, seq, [1, 2], [link, monitor]) end},
            {request_fun, fun() -> spawn_request(fun() -> ok end, [link]) end}],
    [told(Way, Flags) || Flags <- [[procs, set_on_spawn], [procs], [procs, set_on_link], [procs, set_on_first_spawn]],
                         Way <- Ways],
    %% Not of what the parent goes on doing.
    erlang:trace_pattern({lists, seq, 2}, true, [local]),
    Release = list_to_integer(erlang:system_info(otp_release)),
    io:format("~p~n", [erlang:trace_info({lists, seq, 2}, meta)]),
    io:format("~p~n", [try erlang:system_monitor(self(), [{long_message_queue, {1, 20}}]), Release >= 27
                       catch error:badarg -> Release < 27 end]).

told({Name, Way}, Flags) ->
    Self = self(),
    Parent = spawn(fun() -> receive go -> Way(), Self ! {done, self()}, receive stop -> ok end end end),
    Watch = monitor(process, Parent),
    erlang:trace(Parent, true, Flags),
    Parent ! go,
    receive {done, Parent} -> until_gone(Parent) end,
    All = erlang:trace_delivered(all),
    Told = until_delivered(All),
    erlang:trace(Parent, false, [all]),
    Parent ! stop,
    receive {'DOWN', Watch, process, Parent, _} -> ok end,
    io:format("~p ~p~n", [Name, Flags]),
    [io:format("    ~p~n", [shown(T, Parent)]) || T <- Told].

until_gone(Parent) ->
    case [P || P <- processes(), process_info(P, parent) =:= {parent, Parent}] of
        [] -> ok;
        _ -> erlang:yield(), until_gone(Parent)
    end.

until_delivered(All) ->
    receive
        {trace_delivered, all, All} -> [];
        T when element(1, T) =:= trace -> [T | until_delivered(All)]
    end.

shown(Parent, Parent) -> parent;
shown(T, _) when is_pid(T) -> child;
shown(T, _) when is_function(T) -> function;
shown([H | T], Parent) -> [shown(H, Parent) | shown(T, Parent)];
shown(T, Parent) when is_tuple(T) -> list_to_tuple([shown(E, Parent) || E <- tuple_to_list(T)]);
shown(T, _) -> T.
