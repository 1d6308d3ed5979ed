%% lists:reverse/1,2 stops to collect where the heap has no room, and to let others run: what it returns
%% is the same for every length and every amount of room. lists:keyfind/3 and its kin, by each kind of key.
-module(lists_reverse_long).
-export([main/1]).

main(_) ->
    [reverse(N, Used) || N <- [0, 1, 31, 32, 33, 34, 100, 1000], Used <- [0, 10, 100, 150, 1000]],
    reverse(90000, 0),
    Improper = lists:seq(1, 50000) ++ tail,
    io:format("~p ~p~n", [catch_error(fun() -> lists:reverse(Improper) end),
                          catch_error(fun() -> lists:reverse(Improper, [a]) end)]),
    keys().

%% In a process of its own, whose heap is filled up to some words first.
reverse(N, Used) ->
    {_, Ref} = spawn_monitor(
        fun() ->
                List = [{X, X + 0.5} || X <- lists:seq(1, N)],
                Filled = fill(Used, []),
                Back = lists:reverse(List),
                Longer = lists:reverse(List, Filled),
                List = lists:reverse(Back),
                exit({N, Used, length(Back), erlang:phash2(Back), length(Longer), erlang:phash2(Longer)})
        end),
    receive
        {'DOWN', Ref, process, _, Result} -> io:format("~p~n", [Result])
    end.

fill(0, Acc) -> Acc;
fill(N, Acc) -> fill(N - 1, [N | Acc]).

catch_error(F) ->
    try F() catch Class:Reason -> {Class, Reason} end.

keys() ->
    Big = 1 bsl 70,
    Keys = [0, 1, -1, 1.0, -0.0, 0.0, 1.5, a, b, [], self(), "a", "b", {1}, {1.0}, <<"k">>, #{a => 1},
            Big, float(Big), Big + 1, -Big],
    List = [x, {}, {k} | [{K, I} || {K, I} <- lists:zip(Keys, lists:seq(1, length(Keys)))]],
    [io:format("~p ~p ~p ~p~n",
               [Key =:= self() orelse Key, found(lists:keyfind(Key, 1, List)),
                lists:keymember(Key, 1, lists:reverse(List)),
                found(lists:keysearch(Key, 1, lists:reverse(List)))])
     || Key <- Keys ++ [2, 2.0, c, {2}, "c", -1.0, {a, b}]],
    io:format("~p~n", [[catch_error(fun() -> lists:keyfind(a, P, L) end)
                        || P <- [0, -1, a, 1.0, Big, 3], L <- [[], [{a}], [{b} | c], c]]]),
    io:format("~p~n", [[catch_error(fun() -> lists:keyfind(K, 1, [{b}, {2} | c]) end)
                        || K <- [a, b, 1, 2, 2.0, 3.0]]]).

found({value, T}) -> {value, element(2, T)};
found(false) -> false;
found(T) -> element(2, T).
