%% erts_debug:size/1 looks into large maps; what it is given there is safe in anybody's hands.
-module(map_inner_nodes).
-export([start/0]).

start() ->
    Maps = [maps:from_list([{X, {X}} || X <- lists:seq(1, N)]) || N <- [33, 100, 1000]],
    %% How many words it is depends on the layout; that it is no less than the pairs does not.
    io:format("~p~n", [[erts_debug:size(M) > 4 * map_size(M) andalso erts_debug:size([M, M]) =:= 4 + erts_debug:size(M)
                        || M <- Maps]]),
    io:format("~p~n", [[tried(fun() -> erts_internal:map_hashmap_children(T) end)
                        || T <- [#{}, #{a => 1}, {}, [], 1, an_atom]]]),
    lists:foreach(fun handled/1, lists:flatmap(fun nodes/1, Maps)),
    io:format("handled~n").

%% The nodes that OTP gives are not for everybody's hands.
nodes(Map) ->
    case erlang:is_builtin(minivm, engine_name, 0) of
        true -> erts_internal:map_hashmap_children(Map);
        false -> []
    end.

handled(T) ->
    _ = erlang:phash2(T),
    true = binary_to_term(term_to_binary(T)) =:= T,
    true = T =:= T,
    _ = T < {a},
    _ = io_lib:format("~p", [T]),
    self() ! T,
    receive T -> ok end,
    Table = ets:new(t, []),
    true = ets:insert(Table, {T, T}),
    [{T, T}] = ets:lookup(Table, T),
    ets:delete(Table),
    erlang:garbage_collect(),
    [handled(X) || is_tuple(T), X <- tuple_to_list(T)],
    ok.

tried(F) ->
    try F()
    catch Class:Reason -> {Class, Reason}
    end.
