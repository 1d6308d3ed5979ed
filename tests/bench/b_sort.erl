%% lists:sort and a merge sort written out, on pseudo-random numbers.
-module(b_sort).
-define(REPEAT, 3).
-include("bench.hrl").

once() ->
    L = random(100000, 42, []),
    A = lists:sort(L), B = merge_sort(L),
    {A =:= B, hd(A), lists:nth(50000, B)}.

random(0, _, Acc) -> Acc;
random(N, S, Acc) -> S1 = (S * 1103515245 + 12345) band 16#7FFFFFFF, random(N - 1, S1, [S1 | Acc]).

merge_sort([]) -> [];
merge_sort([X]) -> [X];
merge_sort(L) -> {A, B} = split(L, [], []), merge(merge_sort(A), merge_sort(B)).

split([], A, B) -> {A, B};
split([H | T], A, B) -> split(T, B, [H | A]).

merge([], B) -> B;
merge(A, []) -> A;
merge([A | As], [B | _] = Bs) when A =< B -> [A | merge(As, Bs)];
merge(As, [B | Bs]) -> [B | merge(As, Bs)].
