%% Parser combinators out of closures: JSON-like data, arithmetic, and errors.
-module(app_combinators).
-export([main/1]).

main(_) ->
    [io:format("~p => ~p~n", [T, run(data(), T)]) || T <- ["42", "[1,2,[3]]",
                                                           "{a:1,b:[true,false]}", "\"str\"", "[1,",
                                                           "", "[]", "{}", "-7", "nope",
                                                           " [ 1 , 2 ] "]],
    [io:format("~p => ~p~n", [T, run(sum(), T)]) || T <- ["1+2*3", "(1+2)*3", "2*(3+4)*5-1",
                                                          "10-4-3", "((((7))))", "1+", "8/2/2"]],
    Long = string:join([integer_to_list(N) || N <- lists:seq(1, 1000)], "+"),
    io:format("~p~n", [run(sum(), Long)]).

run(P, T) -> case (seq(P, spaces(), fun(V, _) -> V end))(T) of {ok, V, []} -> {ok, V}; {ok, _, R} ->
                 {left, R}; fail -> fail end.

char(C) -> fun([X | T]) when X =:= C -> {ok, C, T}; (_) -> fail end.
satisfy(P) -> fun([X | T]) -> case P(X) of true -> {ok, X, T}; false -> fail end; ([]) -> fail end.
seq(A, B, F) -> fun(S) -> case A(S) of {ok, X, R} -> case B(R) of {ok, Y, R2} -> {ok, F(X, Y), R2};
                                                         fail -> fail end; fail -> fail end end.
alt(Ps) -> fun(S) -> first(Ps, S) end.
first([], _) -> fail;
first([P | Ps], S) -> case P(S) of fail -> first(Ps, S); R -> R end.
many(P) -> fun(S) -> many(P, S, []) end.
many(P, S, Acc) ->
    case P(S) of {ok, X, R} -> many(P, R, [X | Acc]); fail -> {ok, lists:reverse(Acc), S} end.
many1(P) -> seq(P, many(P), fun(H, T) -> [H | T] end).
map(P, F) -> fun(S) -> case P(S) of {ok, X, R} -> {ok, F(X), R}; fail -> fail end end.
lazy(F) -> fun(S) -> (F())(S) end.
between(A, P, B) -> seq(seq(A, P, fun(_, X) -> X end), B, fun(X, _) -> X end).
sep(P, Sep) -> alt([seq(P, many(seq(Sep, P, fun(_, X) -> X end)), fun(H, T) -> [H | T] end),
                    fun(S) -> {ok, [], S} end]).
spaces() -> many(char($\s)).
tok(P) -> seq(spaces(), P, fun(_, X) -> X end).
word(W) -> lists:foldr(fun(C, P) -> seq(char(C), P, fun(_, V) -> V end) end,
                       fun(S) -> {ok, list_to_atom(W), S} end, W).

digits() -> many1(satisfy(fun(C) -> C >= $0 andalso C =< $9 end)).
number() ->
    tok(alt([map(digits(), fun list_to_integer/1), seq(char($-), digits(),
                                                       fun(_, D) -> -list_to_integer(D) end)])).
data() -> alt([number(), tok(word("true")), tok(word("false")),
               tok(between(char($"), many(satisfy(fun(C) -> C =/= $" end)), char($"))),
               between(tok(char($[)), sep(lazy(fun data/0), tok(char($,))), tok(char($]))),
               map(between(tok(char(${)),
                           sep(seq(seq(tok(many1(satisfy(fun(C) -> C >= $a andalso C =< $z end))),
                                       tok(char($:)), fun(K, _) -> K end), lazy(fun data/0),
                                   fun(K, V) -> {K, V} end), tok(char($,))), tok(char($}))),
                   fun maps:from_list/1)]).

chain(P, Ops) -> seq(P, many(seq(tok(satisfy(fun(C) -> lists:member(C, Ops) end)), P,
                                 fun(O, V) -> {O, V} end)),
                     fun(H, T) -> lists:foldl(fun({$+, V}, A) -> A + V; ({$-, V}, A) -> A - V;
                                                  ({$*, V}, A) -> A * V; ({$/, V}, A) ->
                                                  A div V end, H, T) end).
sum() -> chain(product(), "+-").
product() -> chain(atom(), "*/").
atom() -> alt([number(), between(tok(char($()), lazy(fun sum/0), tok(char($))))]).
