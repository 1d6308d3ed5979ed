%% Several patterns in a large binary: what is found does not depend on where a search was scheduled out,
%% nor on how many bytes pass before one with which a pattern begins.
-module(bin_matches_many).
-export([main/1]).

main(_) ->
    rand:seed(exsss, {1, 2, 3}),
    [try_one(Letters, Size) || Letters <- [2, 3, 26, 256], Size <- [0, 1, 7, 300, 20000]].

try_one(Letters, Size) ->
    Subject = random_binary(Letters, Size),
    [begin
         Patterns = [random_binary(Letters, rand:uniform(Longest)) || _ <- lists:seq(1, Count)],
         Compiled = binary:compile_pattern(Patterns),
         Found = binary:matches(Subject, Patterns),
         true = Found =:= binary:matches(Subject, Compiled),
         First = binary:match(Subject, Patterns),
         true = First =:= case Found of [] -> nomatch; [Match | _] -> Match end,
         Parts = binary:split(Subject, Patterns, [global]),
         io:format("~p ~p ~p: ~p ~p ~p~n", [Letters, Size, Count, length(Found), First,
                                             erlang:phash2({Found, Parts})])
     end || Count <- [2, 3, 10], Longest <- [1, 2, 6]].

random_binary(Letters, Size) ->
    list_to_binary([($a + rand:uniform(Letters) - 1) band 255 || _ <- lists:seq(1, Size)]).
