%% Raised again with what the handler got: a function_clause loses its line on the way, all others
%% keep theirs, and so does one whose stack trace became a list in between.
-module(exc_raise_again).
-export([main/1, id/1]).

main(_) ->
    lists:foreach(fun({Name, F}) -> io:format("~p ~p~n", [Name, shown(F)]) end,
                  [{again, fun again/0}, {as_throw, fun as_throw/0}, {list, fun list/0},
                   {used, fun used/0}, {twice, fun twice/0}, {caught, fun caught/0},
                   {inside, fun inside/0}, {after_it, fun after_it/0}, {error2, fun error2/0},
                   {bif, fun bif/0}, {a_fun, fun a_fun/0}, {exited, fun exited/0}]),
    [io:format("~p~n", [given(Stack)]) || Stack <- stacks()].

%% As deep as other stack traces are, and with locations that are lists.
given(Stack) ->
    try erlang:raise(error, x, id(Stack)) of badarg -> refused catch error:x:Raised -> Raised end.
stacks() ->
    [[{m, f, N, []} || N <- lists:seq(1, Depth)] || Depth <- [0, 1, 8, 9, 20]] ++
    [[{m, f, 1, not_a_list}], [{m, f, 1, [a | b]}], [{m, f, 1}], [{m, f, x, []}], [{m, f, 1, [], []}],
     [{fun lists:map/2, [], x}], [{fun lists:map/2, [], []}], [{fun lists:map/2, []}], [{fun lists:map/2}]].

shown(F) ->
    try F() of
        Value -> Value
    catch
        Class:Reason:Stack -> {Class, Reason, lists:sublist(Stack, 3)}
    end.

id(X) -> X.
f(a) -> a.

again() -> try f(id(b)) catch C:R:S -> erlang:raise(C, R, S) end.
as_throw() -> try f(id(b)) catch _:R:S -> erlang:raise(throw, R, S) end.
list() -> try f(id(b)) catch C:R:S -> erlang:raise(C, R, id(S)) end.
used() -> try f(id(b)) catch C:R:S -> id(length(S)), erlang:raise(C, R, S) end.
twice() -> try again() catch C:R:S -> erlang:raise(C, {C, R}, S) end.
caught() -> try again() catch error:_:S -> {caught, hd(S)} end.
inside() -> try f(id(b)) catch C:R:S -> try erlang:raise(C, R, S) catch error:_ -> hd(S) end end.
after_it() -> try f(id(b)) after id(1) end.
error2() -> try with_args(id(b)) catch C:R:S -> erlang:raise(C, R, S) end.
with_args(X) -> erlang:error(function_clause, [X]), ok.
bif() -> try tagged_hd(id(b)) catch C:R:S -> erlang:raise(C, R, S) end.
tagged_hd(X) -> Y = hd(X), {Y}.
a_fun() -> try (id(fun(a) -> b end))(id(c)) catch C:R:S -> erlang:raise(C, R, S) end.
exited() ->
    {P, M} = spawn_monitor(fun() -> again() end),
    receive {'DOWN', M, process, P, {R, [Top | _]}} -> {R, Top} end.
