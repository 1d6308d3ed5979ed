%% Stack traces: functions, arities and lines of this module's frames, through every kind of call.
-module(exc_stacktrace).
-export([main/1, id/1, ext/1]).

main(_) ->
    show(arith, fun() -> outer(a) end),
    show(badmatch, fun() -> match(id({error, 1})) end),
    show(case_clause, fun() -> in_case(id(9)) end),
    show(if_clause, fun() -> in_if(id(9)) end),
    show(function_clause, fun() -> clauses(id(9), id(8)) end),
    show(undef, fun() -> no_such_module:f(1, 2), ok end),
    show(badfun, fun() -> (id(12))(3), ok end),
    show(badarity, fun() -> (fun(_) -> 1 end)(), ok end),
    show(throw, fun() -> deep(3) end),
    show(exit, fun() -> ok = exit(bye), ok end),
    show(error2, fun() -> error(custom, [x, y]) end),
    show(bif_arg, fun() -> X = atom_to_list(id(5)), {X} end),
    show(bif_guardable, fun() -> X = element(id(5), {}), {X} end),
    show(hd, fun() -> X = hd(id([])), {X} end),
    show(external, fun() -> X = ?MODULE:ext(0), {X} end),
    show(in_lists_map, fun() -> lists:map(fun(N) -> 10 div N end, [1, 0]), ok end),
    show(in_comprehension, fun() -> [10 div N || N <- [1, 0]] end),
    show(in_foldl, fun() -> lists:foldl(fun(E, A) -> A + E end, 0, [1, b]), ok end),
    show(badkey, fun() -> X = maps:get(id(k), #{}), {X} end),
    show(badmap, fun() -> X = (id(no))#{k => 1}, {X} end),
    show(reraise, fun() -> reraise() end),
    show(from_after, fun() -> in_after() end),
    show(nested_fun, fun() -> F = fun() -> G = fun() -> error(inner) end, {G()} end, {F()} end),
    show(try_clause, fun() -> try id(1) of 2 -> ok catch _:_ -> caught end end),
    show(long, fun() -> sum_down(20) end),
    show(multi_line, fun() ->
                             id(1) +
                                 id(2) +
                                 id(a)
                     end),
    %% Frames with the same return address in a row are kept once.
    io:format("~p~n",
              [length([F || {_, F, _, _} <- element(2, catch_depth(100)), F =:= sum_down])]),
    %% Also where the engines meet between them.
    io:format("~p~n", [[F || {lists, F, _, _} <- element(2, catch_through_map(10))]]),
    try error(x) catch _:_:S -> io:format("~p~n", [is_list(S)]) end.

catch_through_map(N) -> try through_map(N) catch _:R:Stack -> {R, Stack} end.
through_map(0) -> error(bottom);
through_map(N) -> lists:map(fun(_) -> through_map(N - 1) end, [1]).

show(Name, F) ->
    try F() of
        V -> io:format("~p: no exception ~p~n", [Name, V])
    catch
        Class:Reason:Stack ->
            io:format("~p: ~p ~p~n", [Name, Class, normal(Reason)]),
            [io:format("    ~w:~w/~w line ~w~n", [M, N, arity(A), proplists:get_value(line, L)]) 
             || {M, N, A, L} <- distinct(Stack), M =:= ?MODULE],
            {M1, F1, A1, _} = hd(Stack),
            io:format("    top ~w:~w ~s~n", [M1, F1, args(A1)])
    end.

normal({Tag, F}) when is_function(F) -> {Tag, a_fun};
normal({badarity, {_, Args}}) -> {badarity, Args};
normal(R) -> R.
arity(A) when is_integer(A) -> A;
arity(A) -> length(A).
args(A) when is_integer(A) -> io_lib:format("/~w", [A]);
args(A) -> io_lib:format("~w", [[case is_function(X) of true -> a_fun; false -> X end || X <- A]]).

%% Some call sites stand twice in a row in the oracle's traces.
distinct([F, F | T]) -> distinct([F | T]);
distinct([F | T]) -> [F | distinct(T)];
distinct([]) -> [].

outer(X) ->
    Y = middle(X),
    {outer, Y}.

middle(X) ->
    Y = inner(id(X)),
    {middle, Y}.

inner(X) ->
    Y = X * 2,
    {inner, Y}.

match(V) ->
    {ok, X} = V,
    X.

in_case(V) ->
    case V of
        1 -> one;
        2 -> two
    end.

in_if(V) ->
    if
        V < 5 -> small;
        V > 10 -> large
    end.

clauses(1, _) -> one;
clauses(_, 2) -> two.

deep(0) -> throw(bottom);
deep(N) -> [deep(N - 1)].

ext(0) -> {ext(1)};
ext(N) -> [1 div (N - 1)].

reraise() ->
    try error(original)
    catch C:R:S -> erlang:raise(C, {again, R}, S)
    end.

in_after() ->
    try id(1)
    after
        error(in_after)
    end.

sum_down(0) -> error(bottom);
sum_down(N) -> N + sum_down(N - 1).

catch_depth(N) -> try sum_down(N) catch _:R:S -> {R, S} end.
id(X) -> X.
