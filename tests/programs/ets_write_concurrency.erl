%% What info/2 tells of the options for writers that run at once: of a private table that there are none.
-module(ets_write_concurrency).
-export([start/0]).

start() ->
    Locks = debug_hash_fixed_number_of_locks,
    [io:format("~p ~p ~p: ~p~n", [Type, Protection, Option, told([Type, Protection | Option])])
     || Type <- [set, bag, ordered_set], Protection <- [public, protected, private],
        Option <- [[] | [[{write_concurrency, W}] || W <- [true, false, auto]]]],
    [io:format("~p ~p: ~p~n", [Type, Option, told([Type | Option])])
     || Type <- [set, ordered_set, private],
        Option <- [[{write_concurrency, {Locks, N}}] || N <- [-1, 0, 1, 2, 1024, 2049, 32768, 32769, x]]
            ++ [[{write_concurrency, {Locks, 8}}, {write_concurrency, true}],
                [{write_concurrency, {Locks, 8}}, {decentralized_counters, false}]]].

told(Options) ->
    try ets:new(t, Options) of
        T -> {ets:info(T, write_concurrency), ets:info(T, decentralized_counters)}
    catch
        error:Reason -> Reason
    end.
