%% dict, orddict, sets (both versions), ordsets, proplists.
-module(lib_dict_sets).
-export([main/1]).

main(_) ->
    D = lists:foldl(fun(I, A) -> dict:store({k, I rem 300}, I, A) end, dict:new(), lists:seq(1, 1000)),
    io:format("~p ~p~n", [dict:size(D), erlang:phash2(lists:sort(dict:to_list(D)))]),
    io:format("~p~n", [[dict:find({k, 5}, D), dict:find(x, D), dict:is_key({k, 1}, D), dict:fetch({k, 2}, D), dict:is_empty(dict:new())]]),
    D2 = lists:foldl(fun(I, A) -> dict:append(I rem 3, I, A) end, dict:new(), lists:seq(1, 10)),
    io:format("~p~n", [lists:sort(dict:to_list(D2))]),
    io:format("~p~n", [lists:sort(dict:to_list(dict:append_list(0, [x, y], D2)))]),
    io:format("~p~n", [lists:sort(dict:to_list(dict:update_counter(n, 5, dict:update_counter(n, 2, dict:new()))))]),
    io:format("~p~n", [lists:sort(dict:to_list(dict:merge(fun(_, A, B) -> A ++ B end, D2, dict:from_list([{0, [m]}, {9, [q]}]))))]),
    io:format("~p~n", [lists:sort(dict:fetch_keys(dict:filter(fun(K, _) -> K > 0 end, D2)))]),
    io:format("~p~n", [dict:fold(fun(_, V, S) -> S + length(V) end, 0, dict:map(fun(_, V) -> tl(V) end, D2))]),
    io:format("~p~n", [dict:size(lists:foldl(fun(I, A) -> dict:erase({k, I}, A) end, D, lists:seq(0, 200)))]),
    io:format("~p~n", [try dict:fetch(zz, D) catch C:E -> {C, E} end]),
    io:format("~p~n", [element(1, dict:take(0, D2))]),
    O = orddict:from_list([{b, 2}, {a, 1}, {c, 3}]),
    io:format("~p~n", [[O, orddict:store(b, x, O), orddict:erase(a, O), orddict:update(c, fun(X) -> X * 2 end, O), orddict:fetch_keys(O), orddict:append(l, 1, []), orddict:merge(fun(_, X, Y) -> {X, Y} end, O, [{a, z}]), orddict:is_key(q, O)]]),
    [begin
         S1 = sets:from_list(lists:seq(1, 100), [{version, V}]), S2 = sets:from_list(lists:seq(50, 150), [{version, V}]),
         [io:format("~p ", [{sets:size(S), lists:sum(sets:to_list(S))}]) || S <- [sets:union(S1, S2), sets:intersection(S1, S2), sets:subtract(S1, S2), sets:filter(fun(X) -> X rem 2 =:= 0 end, S1), sets:add_element(1000, S1), sets:del_element(1, S1)]],
         io:format("~p~n", [[sets:is_subset(S1, S2), sets:is_disjoint(S1, S2), sets:is_element(5, S1), sets:is_set(S1), sets:fold(fun(A, B) -> A + B end, 0, S1), sets:is_empty(sets:new([{version, V}]))]])
     end || V <- [1, 2]],
    A = ordsets:from_list([c, a, b, a]), B = [b, d],
    io:format("~p~n", [[A, ordsets:union(A, B), ordsets:intersection(A, B), ordsets:subtract(A, B), ordsets:is_subset([a], A), ordsets:add_element(aa, A), ordsets:del_element(b, A), ordsets:is_disjoint(A, [z]), ordsets:union([A, B, [q]])]]),
    P = [a, {b, 1}, {b, 2}, {c, 1, 2}, {d, false}],
    io:format("~p~n", [[proplists:get_value(b, P), proplists:get_value(a, P), proplists:get_value(z, P, def), proplists:get_all_values(b, P), proplists:get_bool(a, P), proplists:get_bool(d, P), proplists:lookup(b, P), proplists:lookup_all(b, P), proplists:delete(b, P),
                        proplists:is_defined(c, P), proplists:get_keys([{x, 1}]), proplists:unfold(P), proplists:compact([{a, true}, {b, 1}]), proplists:append_values(b, [{b, [1]}, {b, 2}]), proplists:to_map([{a, 1}, b]), proplists:split(P, [a, b])]]).
