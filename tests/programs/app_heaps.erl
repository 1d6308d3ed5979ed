%% Leftist, pairing and binomial heaps, and a priority search on each; all sort alike.
-module(app_heaps).
-export([main/1]).

main(_) ->
    L = [(X * X * 31 + X * 7) rem 2003 || X <- lists:seq(1, 2000)],
    S = lists:sort(L),
    [io:format("~p ~p~n",
               [K, drain(K, lists:foldl(fun(X, H) -> insert(K, X, H) end, empty, L)) =:= S])
     || K <- [leftist, pairing, binomial]],
    [io:format("~p ~p~n", [K, top(K, 5, insert_all(K, [5, 3, 9, 1, 4]))])
     || K <- [leftist, pairing, binomial]],
    io:format("~p~n", [medians([5, 15, 1, 3, 8, 7, 9, 2])]).

insert_all(K, L) -> lists:foldl(fun(X, H) -> insert(K, X, H) end, empty, L).
insert(K, X, empty) -> single(K, X);
insert(K, X, H) -> merge(K, single(K, X), H).
single(leftist, X) -> {1, X, empty, empty};
single(pairing, X) -> {X, []};
single(binomial, X) -> [{0, X, []}].

merge(_, empty, B) -> B;
merge(_, A, empty) -> A;
merge(leftist, {_, X, L, R}, {_, Y, _, _} = B) when X =< Y -> make(X, L, merge(leftist, R, B));
merge(leftist, A, {_, Y, L, R}) -> make(Y, L, merge(leftist, A, R));
merge(pairing, {X, As}, {Y, _} = B) when X =< Y -> {X, [B | As]};
merge(pairing, A, {Y, Bs}) -> {Y, [A | Bs]};
merge(binomial, A, B) -> add(A, B).

make(X, A, B) ->
    case rank(A) >= rank(B) of true -> {rank(B) + 1, X, A, B}; false -> {rank(A) + 1, X, B, A} end.
rank(empty) -> 0;
rank({R, _, _, _}) -> R.

add([], B) -> B;
add(A, []) -> A;
add([{R, _, _} = A | As], [{S, _, _} | _] = Bs) when R < S -> [A | add(As, Bs)];
add([{R, _, _} | _] = As, [{S, _, _} = B | Bs]) when S < R -> [B | add(As, Bs)];
add([A | As], [B | Bs]) -> carry(link(A, B), add(As, Bs)).
carry(T, []) -> [T];
carry({R, _, _} = T, [{S, _, _} | _] = Ts) when R < S -> [T | Ts];
carry(T, [U | Ts]) -> carry(link(T, U), Ts).
link({R, X, As}, {R, Y, _} = B) when X =< Y -> {R + 1, X, [B | As]};
link(A, {R, Y, Bs}) -> {R + 1, Y, [A | Bs]}.

take(leftist, {_, X, L, R}) -> {X, merge(leftist, L, R)};
take(pairing, {X, Hs}) -> {X, pairs(Hs)};
take(binomial, Ts) ->
    {_, X, Cs} = Min = lists:foldl(fun({_, Y, _} = T, {_, Z, _} = M) ->
                                       if Y < Z -> T; true -> M end end, hd(Ts), Ts),
    case add(lists:delete(Min, Ts), lists:reverse(Cs)) of [] -> {X, empty}; H -> {X, H} end.
pairs([]) -> empty;
pairs([A]) -> A;
pairs([A, B | T]) -> merge(pairing, merge(pairing, A, B), pairs(T)).
drain(_, empty) -> [];
drain(K, H) -> {X, R} = take(K, H), [X | drain(K, R)].
top(_, 0, _) -> [];
top(K, N, H) -> {X, R} = take(K, H), [X | top(K, N - 1, R)].

medians(L) -> element(3,
                      lists:foldl(fun(X, {Lo, Hi, Acc}) -> {Lo1, Hi1} = balance(place(X, Lo, Hi)),
                                      {Lo1, Hi1, Acc ++ [median(Lo1, Hi1)]} end, {[], [], []}, L)).
place(X, [M | _] = Lo, Hi) when X < M -> {lists:reverse(lists:sort([X | Lo])), Hi};
place(X, Lo, Hi) -> {Lo, lists:sort([X | Hi])}.
balance({Lo, [H | Hi]}) when length(Hi) + 1 > length(Lo) + 1 -> {[H | Lo], Hi};
balance({[L | Lo], Hi}) when length(Lo) + 1 > length(Hi) -> {Lo, [L | Hi]};
balance(X) -> X.
median(Lo, Hi) when length(Lo) =:= length(Hi) -> (hd(Lo) + hd(Hi)) / 2;
median(_, [H | _]) -> H.
