%% An apply of erlang:apply/3 calls what that applies: the caller is in the stack, however deep it is.
-module(apply_of_apply).
-export([main/1, where/1, id/1]).

id(X) -> X.

main(_) ->
    [io:format("~p ~p~n", [Kind, try outer(Kind) catch C:R:S -> {C, R, short(S)} end])
     || Kind <- [one, one_last, two, two_last, three, three_last, error_1, error_2, exit, throw, no_function, no_atom,
                     improper, too_many, fun_apply, erlang_apply_2]],
    io:format("~p~n", [erlang:apply(id(erlang), id(apply), [id(erlang), id(apply), [?MODULE, id(where), [x]]])]).

where(x) -> found;
where(Y) -> error({where, Y}).

outer(Kind) -> inner(Kind), id(ok).

inner(one) -> erlang:apply(id(?MODULE), id(where), [id(1)]), ok;
inner(one_last) -> erlang:apply(id(?MODULE), id(where), [id(1)]);
inner(two) -> erlang:apply(id(erlang), id(apply), [id(?MODULE), id(where), [id(2)]]), ok;
inner(two_last) -> erlang:apply(id(erlang), id(apply), [id(?MODULE), id(where), [id(2)]]);
inner(three) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(apply), [id(?MODULE), id(where), [id(3)]]]), ok;
inner(three_last) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(apply), [id(?MODULE), id(where), [id(3)]]]);
inner(error_1) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(error), id([oops])]);
inner(error_2) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(error), id([oops, [args]])]);
inner(exit) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(exit), id([oops])]);
inner(throw) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(throw), id([oops])]);
inner(no_function) -> erlang:apply(id(erlang), id(apply), [id(?MODULE), id(no_such_function), id([oops])]);
inner(no_atom) -> erlang:apply(id(erlang), id(apply), [id(1), id(error), id([oops])]);
inner(improper) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(error), id([oops | x])]);
inner(too_many) -> erlang:apply(id(erlang), id(apply), [id(erlang), id(error), lists:duplicate(id(256), x)]);
inner(fun_apply) -> F = fun erlang:apply/3, F(id(?MODULE), id(where), [id(4)]);
inner(erlang_apply_2) -> erlang:apply(id(fun(X) -> where(X) end), [id(5)]).

%% Down to outer/1.
short([{M, F, A, _} | S]) when M =:= ?MODULE; M =:= erlang ->
    [{F, case is_list(A) of true -> length(A); false -> A end, is_list(A)} | case F of outer -> []; _ -> short(S) end];
short([_ | S]) -> short(S);
short([]) -> [].
