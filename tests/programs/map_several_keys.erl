%% Patterns with several constant keys: whatever their order, found in one way through a small map, by
%% their hashes in a large one; keys that are missing, and the register of the map written by its own match.
-module(map_several_keys).
-export([main/1]).

main(_) ->
    Keys = [a, b, c, zz, '', 0, 1, -1, 5, 1 bsl 50, -(1 bsl 50), [], 1.0, "s", {1}, <<"b">>, 1 bsl 80],
    Maps = [maps:from_list([{K, {v, K}} || K <- Some] ++ [{{pad, I}, I} || I <- lists:seq(1, Pad)])
            || Some <- [Keys, lists:reverse(Keys), tl(Keys), lists:droplast(Keys), [], [a, c, 1], [1, 1.0, []]],
               Pad <- [0, 5, 60]],
    [io:format("~w~n", [[try F(M) catch error:{badmatch, _} -> no; error:function_clause -> none end || F <- funs()]])
     || M <- Maps],
    io:format("~w~n", [[own(M) || M <- Maps]]),
    io:format("~w~n", [[has(M) || M <- Maps]]).

funs() ->
    [fun(M) -> #{a := X, b := Y, c := Z} = M, {X, Y, Z} end,
     fun(M) -> #{zz := X, b := Y, a := Z, c := V} = M, {X, Y, Z, V} end,
     fun(M) -> #{1 := X, -1 := Y, 0 := Z, 5 := V} = M, {X, Y, Z, V} end,
     fun(M) -> #{1 bsl 50 := X, -(1 bsl 50) := Y, '' := Z} = M, {X, Y, Z} end,
     fun(M) -> #{[] := X, 1 := Y, a := Z} = M, {X, Y, Z} end,
     fun(M) -> #{1 := X, 1.0 := Y, 1 bsl 80 := Z} = M, {X, Y, Z} end,
     fun(M) -> #{"s" := X, {1} := Y, <<"b">> := Z, a := V} = M, {X, Y, Z, V} end,
     fun(M) -> #{a := X, not_there := Y, b := Z} = M, {X, Y, Z} end,
     fun(M) -> #{not_there := Y} = M, Y end,
     fun(M) -> #{a := {v, X}, c := {v, X2}} = M, {X, X2} end,
     fun(#{a := {v, a}, b := {v, b}, zz := _}) -> all; (#{c := _, a := _}) -> some end,
     fun(M) -> same(M) end].

same(#{a := X, b := _, c := X}) -> equal;
same(#{a := {v, X}, b := {v, Y}}) -> {X, Y}.

%% What is matched takes the place of the map.
own(M) ->
    case M of
        #{a := A, b := B} -> own2(A, B);
        #{a := A} -> own2(A, none);
        _ -> M == M
    end.
own2({v, X}, Y) -> {X, Y}.

has(M) ->
    [is_map_key(a, M) andalso is_map_key(1, M),
     case M of #{a := _, c := _, [] := _} -> yes; _ -> no end,
     case M of #{5 := _, 0 := _, -1 := _, 1 := _} -> yes; _ -> no end].
