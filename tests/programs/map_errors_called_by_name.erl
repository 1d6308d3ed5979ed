%% maps:get/2 and maps:is_key/2 called so that the compiler does not see it: stack traces name them.
-module(map_errors_called_by_name).
-export([main/1, id/1]).

main(_) ->
    M = id(maps),
    lists:foreach(fun t/1,
                  [fun() -> M:get(ok, x) end, fun() -> M:get(ok, #{}) end,
                   fun() -> M:is_key(ok, x) end, fun() -> apply(M, id(get), [a, b]) end,
                   fun() -> {M:get(a, #{a => 1}), M:is_key(b, #{a => 1})} end,
                   fun() -> maps:get(id(ok), id(x)) end, fun() -> maps:get(id(ok), id(#{})) end,
                   fun() -> maps:is_key(id(ok), id(x)) end]).

id(X) -> X.

t(F) ->
    try io:format("~p~n", [F()])
    catch Class:Reason:Stack -> io:format("~p~n", [{Class, Reason, hd(Stack)}])
    end.
