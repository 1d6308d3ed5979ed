%% Atomics seen by several processes: a lock by compare_exchange, a ticket counter, references that
%% travel in messages, closures and persistent terms.
-module(atomics_processes).
-export([main/1]).

main(_) ->
    lock(),
    tickets(),
    travel().

%% Two plain writes under the lock never mix.
lock() ->
    A = atomics:new(3, []),
    Me = self(),
    Workers = [spawn_link(fun() -> locked(A, 300), Me ! {self(), done} end) || _ <- lists:seq(1, 6)],
    [receive {W, done} -> ok end || W <- Workers],
    io:format("~p~n", [[atomics:get(A, I) || I <- [1, 2, 3]]]).

locked(_, 0) -> ok;
locked(A, N) ->
    case atomics:compare_exchange(A, 1, 0, 1) of
        ok ->
            X = atomics:get(A, 2),
            Y = atomics:get(A, 3),
            X = -Y,
            atomics:put(A, 2, X + 1),
            atomics:put(A, 3, Y - 1),
            1 = atomics:exchange(A, 1, 0),
            locked(A, N - 1);
        1 ->
            erlang:yield(),
            locked(A, N)
    end.

tickets() ->
    A = atomics:new(1, [{signed, false}]),
    Me = self(),
    [spawn_link(fun() -> Me ! [atomics:add_get(A, 1, 1) || _ <- lists:seq(1, 500)] end)
     || _ <- lists:seq(1, 8)],
    All = lists:append([receive L -> L end || _ <- lists:seq(1, 8)]),
    io:format("~p~n", [lists:sort(All) =:= lists:seq(1, 4000)]).

travel() ->
    C = counters:new(1, []),
    persistent_term:put({?MODULE, counter}, C),
    Me = self(),
    F = fun(N) -> counters:add(C, 1, N) end,
    Tuple = {[C, #{C => F}]},
    P = spawn_link(fun() ->
                           receive {[X, #{C := G}]} -> G(5), counters:add(X, 1, 6) end,
                           counters:add(persistent_term:get({?MODULE, counter}), 1, 100),
                           Me ! {done, X =:= C}
                   end),
    P ! Tuple,
    receive {done, Same} -> io:format("~p ~p~n", [Same, counters:get(C, 1)]) end,
    persistent_term:erase({?MODULE, counter}),
    erlang:garbage_collect(),
    io:format("~p~n", [counters:get(C, 1)]).
