%% A process that hashes a term which is small but for its shared parts, and takes longer than anybody waits, ends when it
%% is killed, and does what else signals ask for.
-module(hash_killed).
-export([start/0]).

start() ->
    killed(fun() -> erlang:phash2(shared(60, [])) end),
    killed(fun() -> erlang:phash2({shared(60, []), 1}, 1000) end),
    io:format("~w ~w~n", [erlang:phash2(shared(16, [])), erlang:phash2(shared(22, []), 1 bsl 32)]).

shared(0, T) -> T;
shared(N, T) -> shared(N - 1, [T | T]).

killed(F) ->
    {P, Ref} = spawn_monitor(F),
    until_it_works(P),
    exit(P, kill),
    receive {'DOWN', Ref, process, P, Reason} -> io:format("~w~n", [Reason]) end.

until_it_works(P) ->
    case process_info(P, [reductions, status]) of
        [{reductions, N}, _] when N > 5000 -> ok;
        _ -> until_it_works(P)
    end.
