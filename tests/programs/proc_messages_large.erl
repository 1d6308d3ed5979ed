%% Large messages: deep terms, shared subterms, big and sub-binaries, funs; from many senders.
-module(proc_messages_large).
-export([main/1]).

main(_) ->
    Self = self(),
    Echo = spawn_link(fun Loop() -> receive {F, M} -> F ! {self(), M}, Loop() end end),
    Round = fun(M) -> Echo ! {Self, M}, receive {Echo, B} -> B end end,
    Big = [{I, integer_to_list(I), <<I:32>>, I / 3, #{I => [I]}} || I <- lists:seq(1, 5000)],
    io:format("~p~n", [Round(Big) =:= Big]),
    Bin = binary:copy(<<"0123456789">>, 100000),
    io:format("~p~n", [Round(Bin) =:= Bin]),
    Sub = binary:part(Bin, 12345, 5000),
    io:format("~p~n", [Round(Sub) =:= Sub]),
    <<_:3, Bits:1001/bits, _/bits>> = Bin,
    io:format("~p~n", [Round(Bits) =:= Bits]),
    Deep = lists:foldl(fun(I, A) -> {I, A, [A0 || A0 <- [I]]} end, bottom, lists:seq(1, 20000)),
    io:format("~p~n", [Round(Deep) =:= Deep]),
    X = lists:seq(1, 1000),
    Shared = {X, X, [X, X]},
    io:format("~p~n", [Round(Shared) =:= Shared]),
    F = fun(N) -> N + length(X) + byte_size(Bin) end,
    io:format("~p~n", [(Round(F))(1)]),
    M = maps:from_list([{I, {I, Sub}} || I <- lists:seq(1, 200)]),
    io:format("~p~n", [Round(M) =:= M]),
    io:format("~p~n", [erlang:phash2(Round({Big, M}))]),
    [spawn(fun() -> Self ! {from, N, lists:seq(1, N * 10), binary:copy(<<N>>, 100)} end)
     || N <- lists:seq(1, 100)],
    Sum = lists:sum([receive {from, N, L, B} -> length(L) + byte_size(B) + N end
                     || _ <- lists:seq(1, 100)]),
    io:format("~p~n", [Sum]),
    Pid = spawn(fun() -> receive after 20 -> ok end, Self ! {count, count(0)} end),
    [Pid ! {m, I, lists:duplicate(I rem 50, x)} || I <- lists:seq(1, 20000)],
    Pid ! done,
    io:format("~p~n", [receive {count, C} -> C end]),
    io:format("~p~n", [relay(50, {Big, Bin})]).

count(N) -> receive {m, _, L} -> count(N + 1 + length(L)); done -> N end.

relay(N, Term) ->
    Self = self(),
    First = lists:foldl(fun(_, Next) -> spawn(fun() -> receive T -> Next ! T end end) end, Self,
                        lists:seq(1, N)),
    First ! Term,
    receive Back -> Back =:= Term end.
