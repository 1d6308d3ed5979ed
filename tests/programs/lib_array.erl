%% Module array: fixed and growing, defaults, sparse, maps and folds, errors.
-module(lib_array).
-export([main/1]).

main(_) ->
    A = lists:foldl(fun(I, X) -> array:set(I, I * I, X) end, array:new(), lists:seq(0, 500)),
    io:format("~p ~p ~p~n", [array:size(A), array:get(100, A), array:get(9999, A)]),
    io:format("~p~n", [lists:sum(array:to_list(A))]),
    S = array:set(100000, far, array:new([{default, none}])),
    io:format("~p ~p ~p~n", [array:size(S), array:sparse_size(S), array:sparse_to_orddict(S)]),
    F = array:new(5, [{default, 0}, {fixed, true}]),
    io:format("~p~n", [array:to_list(array:set(2, x, F))]),
    io:format("~p~n",
              [[try Fn() catch C:E -> {C, E} end || Fn <- [fun() -> array:set(5, x, F) end,
                                                           fun() -> array:get(5, F) end,
                                                           fun() -> array:get(-1, A) end,
                                                           fun() -> array:set(a, 1, A) end,
                                                           fun() -> array:new(-1) end]]]),
    io:format("~p~n",
              [array:to_list(array:map(fun(I, V) -> {I, V} end, array:from_list([a, b, c])))]),
    io:format("~p~n", [array:foldl(fun(I, V, Acc) -> I + V + Acc end, 0, A)]),
    io:format("~p~n", [array:foldr(fun(_, V, Acc) -> [V | Acc] end, [],
                                   array:from_list([1, 2, 3]))]),
    io:format("~p~n", [array:sparse_foldl(fun(I, V, Acc) -> [{I, V} | Acc] end, [],
                                          array:set(3, v, array:new(10)))]),
    io:format("~p ~p~n", [array:is_fix(F), array:is_fix(array:relax(F))]),
    io:format("~p~n", [array:size(array:resize(array:set(3, x, array:new(20))))]),
    io:format("~p~n", [array:to_orddict(array:from_orddict([{1, a}, {3, b}], d))]),
    io:format("~p~n", [array:to_list(array:reset(1, array:from_list([a, b, c])))]),
    io:format("~p ~p~n", [array:default(F), array:is_array(x)]).
