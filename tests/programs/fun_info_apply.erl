%% External funs, fun_info, apply in all forms, calls with computed module or function, arity
%% errors.
-module(fun_info_apply).
-export([main/1, id/1, two/2, none/0]).

main(_) ->
    X = id(42), Y = id(43),
    Local = fun(A) -> {A, X, Y} end,
    io:format("~p~n", [[erlang:fun_info(Local, K) || K <- [arity, env, module, type]]]),
    Ext = fun lists:map/2,
    io:format("~p~n", [[erlang:fun_info(Ext, K) || K <- [arity, env, module, name, type]]]),
    io:format("~p ~w~n", [Ext, fun ?MODULE:id/1]),
    M = id(lists), F = id(seq), Ar = id(2),
    Made = fun M:F/Ar,
    io:format("~p ~p~n", [Made, Made(1, 3)]),
    io:format("~p~n", [Made =:= fun lists:seq/2]),
    io:format("~p~n", [Local =:= Local]),
    io:format("~p~n", [fun ?MODULE:id/1 =:= fun ?MODULE:id/1]),
    io:format("~p~n", [[apply(lists, seq, [1, 3]), apply(Made, [2, 4]), apply(Local, [z]),
                        M:F(1, 2), apply(M, F, [1, 5, 2]),
                        ?MODULE:two(1, 2), apply(?MODULE, none, [])]]),
    Args = id([1, 2]),
    io:format("~p~n", [apply(fun(A, B) -> {A, B} end, Args)]),
    Many = lists:seq(1, 20),
    io:format("~p~n",
              [apply(fun(A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13, A14, A15, A16, A17,
                         A18, A19, A20) ->
                                     {A20, A19, A18, A17, A16, A15, A14, A13, A12, A11, A10, A9, A8,
                                      A7, A6, A5, A4, A3, A2, A1} end, Many)]),
    io:format("~p~n",
              [[error_of(Fn) || Fn <- [fun() -> Made(1, 2, 3, 4) end,
                                       fun() -> apply(id(foo), [1]) end,
                                              fun() -> (id(foo))(1) end, fun() -> (id(5))() end,
                                              fun() -> (id({lists, map}))(1) end,
                                              fun() -> apply(id(lists), id(nofun), [1]) end,
                                              fun() -> apply(id(nomodule_xyz), f, []) end,
                                              fun() -> apply(lists, seq, id(notalist)) end,
                                              fun() -> apply(lists, seq, id([1 | 2])) end,
                                              fun() -> apply(id(5), seq, [1]) end,
                                              fun() -> apply(lists, id("seq"), [1]) end,
                                              fun() -> (id(nomodule_xyz)):f(1, 2) end,
                                              fun() -> nomodule_xyz:g(x) end,
                                              fun() -> ?MODULE:not_exported(1) end,
                                              fun() -> (fun nomodule_xyz:h/1)(a) end,
                                              fun() -> (id("s")):f() end]]]),
    io:format("~p~n",
              [case error_of(fun() -> (id(fun(A) -> A end))(1, 2) end) of {error,
                      {badarity, {Fu, As}}} when is_function(Fu, 1) -> {badarity, As} end]),
    io:format("~p~n", [error_of(fun() -> (fun lists:append/1)(1, 2) end)]),
    io:format("~p~n",
              [[erlang:function_exported(A, B, C)
                || {A, B, C} <- [{lists, map, 2}, {?MODULE, id, 1}, {?MODULE, error_of, 1},
                                 {nomod, x, 1}]]]),
    io:format("~p~n", [[is_function(Fn, N) || Fn <- [Local, Ext, Made], N <- [0, 1, 2, 3]]]),
    io:format("~p ~p~n", [lists:map(fun ?MODULE:id/1, [a, b]), lists:foldl(fun two/2, z, [a, b])]),
    io:format("~p~n", [erlang:apply(erlang, '+', [1, 2])]),
    io:format("~p~n", [(fun erlang:'++'/2)([1], [2])]),
    io:format("~p~n", [apply(erlang, apply, [erlang, apply, [lists, reverse, [[1, 2, 3]]]])]),
    io:format("~p~n", [lists:map(fun erlang:abs/1, [-1, 2, -3.5])]),
    io:format("~p~n", [?MODULE:module_info(module)]),
    io:format("~p~n", [lists:sort(?MODULE:module_info(exports))]),
    io:format("~p~n", [lists:member({main, 1}, apply(?MODULE, module_info, [functions]))]),
    io:format("~p~n", [error_of(fun() -> erlang:fun_info(id(a), arity) end)]),
    io:format("~p~n", [error_of(fun() -> erlang:make_fun(id(a), b, id(-1)) end)]).

two(A, B) -> {A, B}.
none() -> nothing.
error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
