%% In a fixed bag an object that was deleted and inserted again took its old place among those of its
%% key, not the newest.
-module(ets_deleted_object_comes_back).
-export([main/1]).

main(_) ->
    [run(Type, Fixed, Operations) || Type <- [bag, duplicate_bag], Fixed <- [false, true],
                                     Operations <- operations()],
    io:format("done~n").

%% {insert | delete, Value} of one key
operations() ->
    Orders = [[A, B, C] || A <- [1, 2, 3], B <- [1, 2, 3], C <- [1, 2, 3]],
    [[{insert, 1}, {insert, 2}, {insert, 3}, {delete, A}, {insert, A}, {insert, A}, {delete, B},
      {delete, C}, {insert, B}, {insert, C}, {insert, A}] || [A, B, C] <- Orders].

run(Type, Fixed, Operations) ->
    T = ets:new(t, [Type]),
    Fixed andalso ets:safe_fixtable(T, true),
    ets:insert(T, {other, 0}),
    States = [begin
                  case Operation of
                      insert -> ets:insert(T, {key, V});
                      delete -> ets:delete_object(T, {key, V})
                  end,
                  {Operation, V, [X || {key, X} <- ets:lookup(T, key)], ets:info(T, size)}
              end || {Operation, V} <- Operations],
    io:format("~p ~p ~w~n", [Type, Fixed, States]),
    io:format("~w ~w~n", [lists:sort(ets:tab2list(T)), ets:insert_new(T, {key, 1})]),
    ets:delete(T).
