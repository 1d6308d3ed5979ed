%% Functions that the VM implements, called through funs, apply and in tail position: values, failures and
%% their traces, those that continue by calling others, and many in a row.
-module(fun_of_vm_function).
-export([main/1, through/2, last/2, applied/3, back/1]).

main(_) ->
    L = lists:seq(1, 2000),
    Calls = [{erlang, abs, [-3]}, {erlang, abs, [a]}, {lists, reverse, [L, []]}, {lists, keyfind, [a, 1, [{a, 1}]]},
             {lists, member, [2000, L]}, {lists, member, [x, [a | b]]}, {erlang, apply, [erlang, length, [L]]},
             {erlang, apply, [fun erlang:length/1, [L]]}, {erlang, apply, [fun ?MODULE:back/1, [7]]},
             {erlang, '++', [L, tail]},
             {erlang, binary_to_atom, [<<"x">>, latin1]}, {erlang, list_to_binary, [L]}, {maps, get, [k, #{}]},
             {maps, from_list, [[{N, N} || N <- L]]}, {erlang, term_to_binary, [L]},
             {erlang, setelement, [2, {a, b}, c]}, {erlang, no_such_function, [1]}, {erlang, '!', [self(), message]},
             {erlang, garbage_collect, []}, {erlang, iolist_to_binary, [[<<"a">>, [$b], "c"]]}],
    [io:format("~P~n", [[outcome(fun() -> through(external(M, F, A), A) end),
                         outcome(fun() -> last(external(M, F, A), A) end),
                         outcome(fun() -> applied(M, F, A) end)], 60]) || {M, F, A} <- Calls],
    [io:format("~p~n", [outcome(fun() -> through(external(erlang, F, A), A) end)])
     || {F, A} <- [{throw, [ball]}, {exit, [bye]}, {error, [oops]}, {error, [oops, [1, 2]]}]],
    io:format("~p~n", [[receive message -> got after 0 -> none end || _ <- [1, 2, 3, 4]]]),
    io:format("~p~n", [many(100000, fun erlang:abs/1, 0)]),
    io:format("~p~n", [lists:foldl(fun erlang:max/2, 0, L)]),
    io:format("~p~n", [lists:sum(lists:map(fun erlang:abs/1, [-N || N <- L]))]),
    Self = self(),
    Pids = [spawn(fun() -> Self ! {self(), spinning(20000, fun erlang:abs/1)} end) || _ <- [1, 2, 3]],
    io:format("~p~n", [[receive {P, R} -> R end || P <- Pids]]).

outcome(F) ->
    try F() of
        V -> {value, erlang:phash2(V)}
    catch
        C:R:T -> {C, R, [{M, N, if is_list(A) -> length(A); true -> A end} || {M, N, A, _} <- lists:sublist(T, 3)]}
    end.

through(F, [A]) -> [F(A)];
through(F, [A, B]) -> [F(A, B)];
through(F, [A, B, C]) -> [F(A, B, C)];
through(F, []) -> [F()].

last(F, [A]) -> F(A);
last(F, [A, B]) -> F(A, B);
last(F, [A, B, C]) -> F(A, B, C);
last(F, []) -> F().

external(M, F, A) -> N = length(A), fun M:F/N.

applied(M, F, [A]) -> M:F(A);
applied(M, F, [A, B]) -> {M:F(A, B)};
applied(M, F, A) -> apply(M, F, A).

back(N) -> {back, N}.

many(0, _, Sum) -> Sum;
many(N, F, Sum) -> many(N - 1, F, Sum + F(-1)).

spinning(0, _) -> done;
spinning(N, F) -> F(N), spinning(N - 1, F).
