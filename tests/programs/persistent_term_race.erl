%% Readers find a value of the key they ask for, whole, while others insert, replace and erase, and the table
%% grows and shrinks; what is there all the time is always found.
-module(persistent_term_race).
-export([main/1]).

-define(KEYS, 60).
-define(ROUNDS, 300).

main(_) ->
    [persistent_term:put(key(N), value(N, 0)) || N <- lists:seq(1, ?KEYS, 2)],
    Stop = atomics:new(1, []),
    Readers = [spawn_monitor(fun() -> exit({wrong, read(Stop, Seed, 0)}) end) || Seed <- [1, 2, 3]],
    Writers = [spawn_monitor(fun() -> [write(Seed, Round) || Round <- lists:seq(1, ?ROUNDS)] end) || Seed <- [0, 1]],
    io:format("~p~n", [[receive {'DOWN', R, _, P, Why} -> Why end || {P, R} <- Writers]]),
    atomics:put(Stop, 1, 1),
    io:format("~p~n", [[receive {'DOWN', R, _, P, Why} -> Why end || {P, R} <- Readers]]),
    io:format("~p~n", [lists:sort([{K, V} || {{?MODULE, _, _} = K, {_, V, _}} <- persistent_term:get()])]),
    %% Many more, and most of them gone again.
    [persistent_term:put({many, N}, {N}) || N <- lists:seq(1, 5000)],
    io:format("~p~n", [[N || N <- lists:seq(1, 5000), persistent_term:get({many, N}) =/= {N}]]),
    io:format("~p~n", [lists:usort([persistent_term:erase({many, N}) || N <- lists:seq(1, 5000), N rem 100 =/= 0])]),
    [persistent_term:put({many, N}, again) || N <- lists:seq(1, 5000, 7)],
    io:format("~p~n", [erlang:phash2(lists:sort([E || {{many, _}, _} = E <- persistent_term:get()]))]),
    io:format("~p~n", [lists:usort([persistent_term:erase({many, N}) || N <- lists:seq(1, 5000)])]).

key(N) -> {?MODULE, N, integer_to_binary(N)}.
value(N, Round) -> {key(N), Round, lists:duplicate(N rem 7, N)}.

%% Odd keys are there always, even ones come and go.
write(Seed, Round) ->
    [case N rem 2 of
         1 -> persistent_term:put(key(N), value(N, Round));
         0 when (N div 2 + Round) rem 2 =:= 0 -> persistent_term:put(key(N), value(N, Round));
         0 -> persistent_term:erase(key(N))
     end || N <- lists:seq(1, ?KEYS), N div 2 rem 2 =:= Seed].

read(Stop, Seed, Wrong) ->
    case atomics:get(Stop, 1) of
        1 -> Wrong;
        0 ->
            Now = [wrong(N, persistent_term:get(key(N), none)) || N <- lists:seq(Seed, ?KEYS, Seed)],
            All = [wrong(N, V) || {{?MODULE, N, _}, V} <- persistent_term:get()],
            read(Stop, Seed, Wrong + lists:sum(Now) + lists:sum(All))
    end.

wrong(N, {Key, Round, List}) when Round >= 0 ->
    case Key =:= key(N) andalso List =:= lists:duplicate(N rem 7, N) of true -> 0; false -> 1 end;
wrong(N, none) when N rem 2 =:= 0 -> 0;
wrong(_, _) -> 1.
