%% A compiler from a small Lisp to stack code, and the machine that runs it.
-module(app_virtual_machine).
-export([main/1]).

main(_) ->
    Programs = ["(+ 1 2)", "(if (< 1 2) 10 20)", "(let x 5 (* x x))",
                "(def fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 15)",
                "(def fact (n) (if (= n 0) 1 (* n (fact (- n 1))))) (fact 30)",
                "(def even (n) (if (= n 0) 1 (odd (- n 1)))) (def odd (n) (if (= n 0) 0 (even (- n 1)))) (even 1001)",
                "(def gcd (a b) (if (= b 0) a (gcd b (% a b)))) (gcd 1071 462)",
                "(def sum (n acc) (if (= n 0) acc (sum (- n 1) (+ acc n)))) (sum 20000 0)",
                    "(let a 1 (let b 2 (let c 3 (+ a (* b c)))))", "(foo 1)", "(+ 1 x)", "(+ 1"],
    [io:format("~s~n  => ~p~n", [P, catch run(P)]) || P <- Programs],
    io:format("~p~n", [compile(read_all("(if (< 1 2) (+ 3 4) 5)"))]).

run(Text) -> {Main, Defs} = compile(read_all(Text)), exec(Main, [], [], Defs, []).

read_all(T) -> forms(scan(T)).
scan([C | T]) when C =:= $(; C =:= $) -> [C | scan(T)];
scan([C | T]) when C =< $\s -> scan(T);
scan([]) -> [];
scan(T) -> {W, R} = lists:splitwith(fun(C) -> C > $\s andalso C =/= $( andalso C =/= $) end, T),
    [try list_to_integer(W) catch error:badarg -> {sym, W} end | scan(R)].
scan_error() -> throw(unbalanced).
forms([]) -> [];
forms(Ts) -> {F, R} = form(Ts), [F | forms(R)].
form([$( | T]) -> list(T, []);
form([]) -> scan_error();
form([X | T]) -> {X, T}.
list([$) | T], Acc) -> {lists:reverse(Acc), T};
list([], _) -> scan_error();
list(T, Acc) -> {F, R} = form(T), list(R, [F | Acc]).

compile(Forms) ->
    Defs = maps:from_list([{N, {length(Ps), code(B, [P || {sym, P} <- Ps]) ++ [return]}}
                           || [{sym, "def"}, {sym, N}, Ps, B] <- Forms]),
    [Main] = [F || F <- Forms, not is_list(F) orelse hd(F) =/= {sym, "def"}],
    {code(Main, []) ++ [halt], Defs}.
code(N, _) when is_integer(N) -> [{push, N}];
code({sym, V}, Env) -> case index(V, Env, 0) of none -> throw({unbound, V}); I -> [{local, I}] end;
code([{sym, "if"}, C, A, B], Env) -> [{branch, code(C, Env), code(A, Env), code(B, Env)}];
code([{sym, "let"}, {sym, V}, E, B], Env) ->
    code(E, Env) ++ [bind] ++ code(B, [V | Env]) ++ [unbind];
code([{sym, F} | As], Env) ->
    Args = lists:append([code(A, Env) || A <- As]),
    case lists:member(F, ["+", "-", "*", "<", "=", "%"]) of true -> Args ++ [{op, F}];
        false -> Args ++ [{call, F, length(As)}] end.
index(_, [], _) -> none;
index(V, [V | _], I) -> I;
index(V, [_ | T], I) -> index(V, T, I + 1).

exec([halt], [V], _, _, []) -> V;
exec([return], [V | _], _, Defs, [{Code, Stack, Env} | Frames]) ->
    exec(Code, [V | Stack], Env, Defs, Frames);
exec([{push, N} | C], S, E, D, F) -> exec(C, [N | S], E, D, F);
exec([{local, I} | C], S, E, D, F) -> exec(C, [lists:nth(I + 1, E) | S], E, D, F);
exec([bind | C], [V | S], E, D, F) -> exec(C, S, [V | E], D, F);
exec([unbind | C], S, [_ | E], D, F) -> exec(C, S, E, D, F);
exec([{op, O} | C], [B, A | S], E, D, F) -> exec(C, [op(O, A, B) | S], E, D, F);
exec([{branch, Q, A, B} | C], S, E, D, F) -> case exec(Q ++ [halt], [], E, D, []) of 0 ->
                                                 exec(B ++ C, S, E, D, F);
                                                 _ -> exec(A ++ C, S, E, D, F) end;
exec([{call, N, Ar} | C], S, E, D, F) ->
    case D of
        #{N := {Ar, Code}} ->
            {Args, S1} = lists:split(Ar, S),
            case C of
                [return] -> exec(Code, S1, lists:reverse(Args), D, F);
                _ -> exec(Code, [], lists:reverse(Args), D, [{C, S1, E} | F])
            end;
        _ -> throw({undefined, N, Ar})
    end.
op("+", A, B) -> A + B; op("-", A, B) -> A - B; op("*", A, B) -> A * B; op("%", A, B) -> A rem B;
op("<", A, B) when A < B -> 1; op("<", _, _) -> 0; op("=", A, A) -> 1; op("=", _, _) -> 0.
