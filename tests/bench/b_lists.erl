%% Hand-written reverse, map, filter and fold over a long list.
-module(b_lists).
-define(REPEAT, 20).
-include("bench.hrl").

once() ->
    L = lists:seq(1, 200000),
    sum(filter(map(reverse(L, []))), 0).

reverse([], Acc) -> Acc;
reverse([H | T], Acc) -> reverse(T, [H | Acc]).

map([]) -> [];
map([H | T]) -> [H * 3 | map(T)].

filter([H | T]) when H rem 2 =:= 0 -> [H | filter(T)];
filter([_ | T]) -> filter(T);
filter([]) -> [].

sum([H | T], S) -> sum(T, S + H);
sum([], S) -> S.
