%% erlang:fun_info(Fun, refc): one of the module, and one of each fun that lies somewhere.
-module(fun_references).
-export([start/0]).

start() ->
    F = make(2),
    show(alone, F),
    G = make(42),
    show(two, F),
    in_another_process(F),
    show(gone_with_the_process, F),
    in_a_queue(F),
    in_tables(F),
    in_a_persistent_term(F),
    in_the_dictionary(F),
    7 = F(5),
    erlang:garbage_collect(),
    40 = G(-2),
    show(collected, G),
    io:format("~p ~p~n", [erlang:fun_info(fun lists:map/2, refc), element(1, element(2, catch erlang:fun_info(G, no_item)))]).

make(N) -> fun(X) -> X + N end.

show(What, F) ->
    {refc, N} = erlang:fun_info(F, refc),
    io:format("~p ~p~n", [What, N]).

in_another_process(F) ->
    {Pid, Ref} = spawn_monitor(fun() -> show(asked_by_another_process, F), receive {stop, _} -> ok end end),
    Pid ! {stop, F},
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    timer:sleep(1).

%% The message is received by nobody before the process ends.
in_a_queue(F) ->
    erlang:garbage_collect(),
    show(before_a_message, F),
    {Pid, Ref} = spawn_monitor(fun() -> receive stop -> ok end end),
    Pid ! {keep, F},
    {message_queue_len, 1} = process_info(Pid, message_queue_len),
    show(in_a_queue, F),
    Pid ! stop,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    timer:sleep(1),
    show(without_the_queue, F).

in_tables(F) ->
    [in_a_table(F, Type, Options) || Type <- [set, ordered_set, bag, duplicate_bag],
                                     Options <- [[], [private], [compressed]]].

in_a_table(F, Type, Options) ->
    erlang:garbage_collect(),
    T = ets:new(?MODULE, [Type | Options]),
    ets:insert(T, {a, F}),
    show({Type, Options, one}, F),
    ets:insert(T, [{a, none}, {b, [F, {F}]}]),
    show({Type, Options, more}, F),
    ets:delete(T, b),
    show({Type, Options, less}, F),
    ets:delete(T),
    show({Type, Options, none}, F).

in_a_persistent_term(F) ->
    erlang:garbage_collect(),
    persistent_term:put(?MODULE, {F, x}),
    show(persistent, F),
    persistent_term:erase(?MODULE),
    %% Only what the process refers to is left when the term has been given back.
    given_back(F, 100).

given_back(_, 0) -> io:format("never given back~n");
given_back(F, N) ->
    erlang:garbage_collect(),
    case erlang:fun_info(F, refc) of
        {refc, 3} -> ok;
        _ -> timer:sleep(10), given_back(F, N - 1)
    end.

%% One, whoever refers to it.
in_the_dictionary(F) ->
    erlang:garbage_collect(),
    put(a, F),
    put(b, [F, F]),
    show(in_the_dictionary, F),
    erase(a),
    erase(b).
