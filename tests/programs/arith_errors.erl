%% What arithmetic says about operands that are no numbers, operator by operator.
-module(arith_errors).
-export([main/1, id/1]).

main(_) ->
    Bad = [a, "1", <<1>>, {}, [], #{}, fun id/1, self()],
    Ops = [{'+', fun(A, B) -> A + B end}, {'-', fun(A, B) -> A - B end},
           {'*', fun(A, B) -> A * B end},
           {'/', fun(A, B) -> A / B end}, {'div', fun(A, B) -> A div B end},
           {'rem', fun(A, B) -> A rem B end}, {'band', fun(A, B) -> A band B end},
           {'bor', fun(A, B) -> A bor B end}, {'bxor', fun(A, B) -> A bxor B end},
           {'bsl', fun(A, B) -> A bsl B end}, {'bsr', fun(A, B) -> A bsr B end}],
    [io:format("~p ~p ~p~n", [Op, [result(F, B, Good) || B <- Bad],
                              [result(F, Good, B) || B <- Bad]])
     || {Op, F} <- Ops, Good <- [1, 1 bsl 70, 2.5]],
    [io:format("~p~n", [[result1(F, B) || B <- Bad ++ [1.5]]])
     || F <- [fun(A) -> -A end, fun(A) -> +A end, fun(A) -> bnot A end, fun(A) -> abs(A) end]],
    %% The order of evaluation shows in which side effect happens before the error.
    put(trail, []),
    catch mark(left, 1) + mark(right, a),
    catch mark(l2, a) * mark(r2, 1),
    io:format("~p~n", [lists:reverse(get(trail))]),
    io:format("~p~n", [frames(fun() -> id(1) + id(a) end)]),
    io:format("~p~n", [frames(fun() -> id(x) * id(2) end)]),
    io:format("~p~n", [frames(fun() -> id(1) div id(0) end)]),
    io:format("~p~n", [frames(fun() -> abs(id(x)) end)]).

%% The first frame names the operator and carries its operands.
frames(F) ->
    try F()
    catch _:R:Stack ->
        [{M, N, A, _} | _] = Stack,
        {R, M, N, A}
    end.

mark(Name, Value) -> put(trail, [Name | get(trail)]), Value.

result(F, A, B) -> try F(A, B) of V -> V catch error:R -> R end.
result1(F, A) -> try F(A) of V -> V catch error:R -> R end.
id(X) -> X.
