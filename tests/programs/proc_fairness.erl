%% Busy loops and long-running BIFs do not keep other processes from running.
-module(proc_fairness).
-export([main/1]).

main(_) ->
    Busy = [spawn_link(fun() -> spin(0) end) || _ <- lists:seq(1, 8)],
    io:format("~p~n", [ticks(10)]),
    [begin unlink(P), exit(P, kill) end || P <- Busy],
    Self = self(),
    L = lists:seq(1, 200000),
    Big = [{I, integer_to_list(I)} || I <- lists:seq(1, 50000)],
    Works = [{reverse, fun() -> length(lists:reverse(L)) end},
             {append, fun() -> length(L ++ L) end},
             {sort, fun() -> length(lists:sort(lists:reverse(L))) end},
             {subtract, fun() -> length(L -- lists:seq(1, 200000, 3)) end},
             {etf, fun() -> length(binary_to_term(term_to_binary(Big))) end},
                 {phash, fun() -> erlang:phash2(Big) end},
             {list_to_binary, fun() -> byte_size(list_to_binary([I band 255 || I <- L])) end},
             {member, fun() -> lists:member(0, L) end},
                 {keyfind, fun() -> lists:keyfind(0, 1, Big) end},
             {matches,
              fun() -> length(binary:matches(binary:copy(<<"ab">>, 200000), <<"ba">>)) end},
                 {copy, fun() -> Self ! {copied, Big}, receive {copied, B} -> length(B) end end},
             {map, fun() -> map_size(maps:from_list(Big)) end},
             {bignum, fun() -> (fact(3000, 1) rem 1000003) end},
                 {unicode,
                  fun() -> byte_size(unicode:characters_to_binary([C || C <- L,
                          C < 16#D800 orelse C > 16#DFFF])) end}],
    [io:format("~p ~p~n", [N, F()]) || {N, F} <- Works],
    Ps = [spawn_monitor(F) || {N, F} <- Works, N =/= copy],
    io:format("~p~n", [ticks(5)]),
    [receive {'DOWN', R, process, P, _} -> ok after 20000 -> exit(P, kill) end || {P, R} <- Ps],
    io:format("~p~n", [yielding(1000)]),
    Low = spawn_opt(fun() -> Self ! low_ran end, [{priority, low}]),
    io:format("~p ~p~n", [is_pid(Low), receive low_ran -> ok after 10000 -> starved end]).

spin(N) -> spin(N + 1).

ticks(0) -> ticked;
ticks(N) -> receive after 5 -> ticks(N - 1) end.

fact(0, A) -> A;
fact(N, A) -> fact(N - 1, A * N).

yielding(N) ->
    Self = self(),
    A = spawn(fun() -> [erlang:yield() || _ <- lists:seq(1, N)], Self ! {self(), done} end),
    B = spawn(fun() -> [erlang:yield() || _ <- lists:seq(1, N)], Self ! {self(), done} end),
    [receive {P, done} -> done end || P <- [A, B]].
