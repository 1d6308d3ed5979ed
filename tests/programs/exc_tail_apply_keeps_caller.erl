%% erlang:error/1 and the like, called by name in tail position: the function that calls stays in the
%% stack trace, though its frame would be gone. Other functions in tail position leave no trace.
-module(exc_tail_apply_keeps_caller).
-export([main/1, dynamic/3, framed/3, by_apply/3, by_apply_framed/3, by_fun/2, static/1]).

main(_) ->
    Calls = [{error, [why]}, {error, [why, [arg1, arg2]]}, {error, [why, none]},
             {error, [why, [a], [{error_info, #{}}]]}, {exit, [why]}, {throw, [why]},
             {raise, [error, why, []]}, {raise, [throw, why, [{m, f, 1, []}]]},
             {atom_to_list, [1]}, {list_to_tuple, [not_a_list]}, {no_such_function, [1, 2]},
             {exit, [not_a_pid, why]},
             {apply, [fun erlang:error/1, [why]]}],
    [show(How, F, A, fun() -> ?MODULE:How(erlang, F, A) end)
     || How <- [dynamic, framed, by_apply, by_apply_framed], {F, A} <- Calls],
    [show(by_fun, F, A, fun() -> by_fun(fun erlang:F/1, A) end)
     || {F, A} <- [{error, why}, {exit, why}, {throw, why}, {atom_to_list, 1}]],
    [show(static, F, none, fun() -> static(F) end)
     || F <- [error, error2, exit, throw, bif, after_return]].

show(How, F, A, Fun) ->
    Trace = try outer(Fun)
            catch C:R:S -> {C, R, until_outer(S)} end,
    io:format("~p ~p ~p~n    ~p~n", [How, F, A, Trace]).

outer(Fun) -> [Fun()].

until_outer([{?MODULE, outer, 1, _} | _]) -> [outer];
until_outer([{M, F, A, L} | S]) -> [{M, F, A, lists:keyfind(line, 1, L)} | until_outer(S)];
until_outer([]) -> [].

dynamic(M, F, [A]) -> M:F(A);
dynamic(M, F, [A, B]) -> M:F(A, B);
dynamic(M, F, [A, B, C]) -> M:F(A, B, C).

framed(M, F, Args) ->
    L = length(Args),
    N = abs(hd(lists:reverse([L]))),
    self() ! {done, L},
    receive {done, N} -> ok end,
    framed(N, M, F, Args).
framed(N, M, F, Args) ->
    ok = erlang:apply(lists, foreach, [fun(_) -> ok end, lists:seq(1, N)]),
    case Args of
        [A] -> M:F(A);
        [A, B] -> M:F(A, B);
        [A, B, C] -> M:F(A, B, C)
    end.

by_apply(M, F, Args) -> apply(M, F, Args).

by_apply_framed(M, F, Args) ->
    ok = lists:foreach(fun(_) -> ok end, Args),
    apply(M, F, Args).

by_fun(F, A) -> F(A).

static(error) -> erlang:error(why);
static(error2) -> erlang:error(why, [error2]);
static(exit) -> exit(why);
static(throw) -> throw(why);
static(bif) -> atom_to_list(hd([1]));
static(after_return) -> ok = lists:foreach(fun(_) -> ok end, [1]), erlang:error(why).
