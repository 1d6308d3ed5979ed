%% Module queue against a list model.
-module(lib_queue).
-export([main/1]).

main(_) ->
    Q = queue:from_list([1, 2, 3]),
    io:format("~p~n", [[queue:to_list(queue:in(4, Q)), queue:to_list(queue:in_r(0, Q)),
                        queue:len(Q), queue:is_empty(Q), queue:is_empty(queue:new()),
                        queue:is_queue(Q), queue:is_queue(a)]]),
    {{value, A}, Q1} = queue:out(Q), {{value, B}, Q2} = queue:out_r(Q1),
    io:format("~p ~p ~p~n", [A, B, queue:to_list(Q2)]),
    io:format("~p~n", [queue:out(queue:new())]),
    io:format("~p~n", [[queue:get(Q), queue:get_r(Q), queue:peek(Q), queue:peek_r(Q),
                        queue:peek(queue:new())]]),
    io:format("~p~n", [[queue:to_list(X) || X <- [queue:drop(Q), queue:drop_r(Q), queue:reverse(Q),
                                                  queue:join(Q, Q),
                                                  queue:filter(fun(N) -> N > 1 end, Q),
                                                  queue:cons(0, Q), queue:snoc(Q, 9), queue:tail(Q),
                                                  queue:init(Q)]]]),
    {L, R} = queue:split(1, Q),
    io:format("~p ~p~n", [queue:to_list(L), queue:to_list(R)]),
    io:format("~p~n", [[queue:member(2, Q), queue:head(Q), queue:last(Q),
                        queue:any(fun(X) -> X > 2 end, Q), queue:all(fun(X) -> X > 2 end, Q),
                        queue:fold(fun(X, S) -> X + S end, 0, Q)]]),
    io:format("~p~n",
              [[queue:to_list(queue:delete(2, Q)),
                queue:to_list(queue:delete_with(fun(X) -> X =:= 3 end, Q)),
                queue:to_list(queue:filtermap(fun(X) -> {true, -X} end, Q))]]),
    io:format("~p~n",
              [[try F() catch C:E -> {C, E} end || F <- [fun() -> queue:get(queue:new()) end,
                                                         fun() -> queue:in(1, x) end,
                                                         fun() -> queue:from_list(a) end,
                                                         fun() -> queue:split(9, Q) end]]]),
    io:format("~p~n", [model(5000, 42, queue:new(), [], 0)]).

model(0, _, Q, M, H) -> M = queue:to_list(Q), {length(M), H};
model(N, S, Q, M, H) ->
    S1 = (S * 1103515245 + 12345) band 16#7FFFFFFF,
    true = queue:len(Q) =:= length(M),
    case (S1 bsr 8) rem 5 of
        0 -> model(N - 1, S1, queue:in(S1, Q), M ++ [S1], H);
        1 -> model(N - 1, S1, queue:in_r(S1, Q), [S1 | M], H);
        2 when M =/= [] -> {{value, V}, Q1} = queue:out(Q), V = hd(M),
            model(N - 1, S1, Q1, tl(M), erlang:phash2({H, V}));
        3 when M =/= [] -> {{value, V}, Q1} = queue:out_r(Q), V = lists:last(M),
            model(N - 1, S1, Q1, lists:droplast(M), erlang:phash2({H, V}));
        _ -> model(N - 1, S1, queue:reverse(Q), lists:reverse(M), H)
    end.
