%% Tokenizer, precedence parser, evaluator, simplifier and symbolic derivative for expressions.
-module(app_calculator).
-export([main/1]).

main(_) ->
    Env = #{"x" => 3, "y" => 0.5, "pi" => 3.141592653589793},
    Texts = ["1 + 2 * 3", "(1 + 2) * 3", "2 ^ 3 ^ 2", "-2 ^ 2", "x * x - y", "10 / 4", "7 % 4 + 7",
             "sin(pi / 2) + max(1, x, 2)", "let z = 4 in z * z + x", "1 +", "(1", "2 $ 3", "foo(1)",
             "u + 1", "1 / (x - 3)", "if x > 2 then 10 else 20", "1 < 2", "- - 3", "0.1 + 0.2",
             "2 ^ 200"],
    [io:format("~s = ~p~n", [T, run(T, Env)]) || T <- Texts],
    [io:format("d/dx ~s = ~s~n", [T, show(simplify(d(parse(T))))])
     || T <- ["x", "5", "x * x", "3 * x ^ 4 + 2 * x + 7", "sin(x * x)", "x / (x + 1)",
              "(x + 1) ^ 3"]].

run(T, Env) ->
    try eval(parse(T), Env) catch throw:E -> {error, E}; error:badarith -> {error, arithmetic} end.

parse(T) ->
    case expr(tokens(T), 0) of
        {E, []} -> E;
        {_, [H | _]} -> throw({unexpected, H})
    end.

tokens([C | T]) when C =< $\s -> tokens(T);
tokens([C | _] = S) when C >= $0, C =< $9 ->
    {D, R} = lists:splitwith(fun(X) -> X >= $0 andalso X =< $9 orelse X =:= $. end, S),
    [{num, case lists:member($., D) of true -> list_to_float(D);
               false -> list_to_integer(D) end} | tokens(R)];
tokens([C | _] = S) when C >= $a, C =< $z ->
    {D, R} = lists:splitwith(fun(X) -> X >= $a andalso X =< $z end, S),
    [case lists:member(D, ["let", "in", "if", "then", "else"]) of true -> {key, D};
         false -> {id, D} end | tokens(R)];
tokens([C | T]) -> case lists:member(C, "+-*/%^()=,<>") of true -> [C | tokens(T)];
                       false -> throw({bad_character, [C]}) end;
tokens([]) -> [].

prec($<) -> {1, left}; prec($>) -> {1, left}; prec($+) -> {2, left}; prec($-) -> {2, left};
prec($*) -> {3, left}; prec($/) -> {3, left}; prec($%) -> {3, left}; prec($^) -> {5, right};
prec(_) -> none.

expr(Ts, Min) -> {L, R} = unary(Ts), climb(L, R, Min).
climb(L, [Op | T] = Ts, Min) ->
    case prec(Op) of
        {P, Assoc} when P >= Min -> {R, T1} = expr(T, case Assoc of left -> P + 1; right -> P end),
            climb({Op, L, R}, T1, Min);
        _ -> {L, Ts}
    end;
climb(L, [], _) -> {L, []}.

unary([$- | T]) -> {E, R} = expr(T, 4), {{neg, E}, R};
unary([{num, N} | T]) -> {{num, N}, T};
unary([{id, F}, $( | T]) -> {As, R} = args(T), {{call, F, As}, R};
unary([{id, V} | T]) -> {{var, V}, T};
unary([$( | T]) -> case expr(T, 0) of {E, [$) | R]} -> {E, R}; _ -> throw(missing_paren) end;
unary([{key, "let"}, {id, V}, $= | T]) -> {E, R} = expr(T, 0),
    case R of [{key, "in"} | R1] -> {B, R2} = expr(R1, 0), {{'let', V, E, B}, R2};
        _ -> throw(missing_in) end;
unary([{key, "if"} | T]) -> {C, [{key, "then"} | R]} = expr(T, 0),
    {A, [{key, "else"} | R1]} = expr(R, 0), {B, R2} = expr(R1, 0), {{'if', C, A, B}, R2};
unary([H | _]) -> throw({unexpected, H});
unary([]) -> throw(unexpected_end).

args(T) -> {E, R} = expr(T, 0), case R of [$, | R1] -> {Es, R2} = args(R1), {[E | Es], R2};
                                    [$) | R1] -> {[E], R1}; _ -> throw(missing_paren) end.

eval({num, N}, _) -> N;
eval({var, V}, Env) -> case Env of #{V := X} -> X; _ -> throw({unbound, V}) end;
eval({neg, E}, Env) -> -eval(E, Env);
eval({'let', V, E, B}, Env) -> eval(B, Env#{V => eval(E, Env)});
eval({'if', C, A, B}, Env) -> case eval(C, Env) of true -> eval(A, Env); false -> eval(B, Env) end;
eval({call, "sin", [E]}, Env) -> math:sin(eval(E, Env));
eval({call, "max", Es}, Env) -> lists:max([eval(E, Env) || E <- Es]);
eval({call, F, Es}, _) -> throw({no_function, F, length(Es)});
eval({Op, A, B}, Env) -> op(Op, eval(A, Env), eval(B, Env)).
op($+, A, B) -> A + B; op($-, A, B) -> A - B; op($*, A, B) -> A * B; op($/, A, B) -> A / B;
op($%, A, B) -> A rem B; op($<, A, B) -> A < B; op($>, A, B) -> A > B;
op($^, A, B) when is_integer(A), is_integer(B), B >= 0 -> pow(A, B); op($^, A, B) -> math:pow(A, B).
pow(_, 0) -> 1; pow(A, N) -> A * pow(A, N - 1).

d({num, _}) -> {num, 0};
d({var, "x"}) -> {num, 1};
d({neg, E}) -> {neg, d(E)};
d({$+, A, B}) -> {$+, d(A), d(B)};
d({$-, A, B}) -> {$-, d(A), d(B)};
d({$*, A, B}) -> {$+, {$*, d(A), B}, {$*, A, d(B)}};
d({$/, A, B}) -> {$/, {$-, {$*, d(A), B}, {$*, A, d(B)}}, {$^, B, {num, 2}}};
d({$^, A, {num, N}}) -> {$*, {$*, {num, N}, {$^, A, {num, N - 1}}}, d(A)};
d({call, "sin", [E]}) -> {$*, {call, "cos", [E]}, d(E)}.

simplify({Op, A, B}) when is_integer(Op) -> s(Op, simplify(A), simplify(B));
simplify(E) -> E.
s($+, {num, A}, {num, B}) -> {num, A + B}; s($+, {num, 0}, B) -> B; s($+, A, {num, 0}) -> A;
s($*, {num, A}, {num, B}) -> {num, A * B}; s($*, {num, 0}, _) -> {num, 0};
s($*, _, {num, 0}) -> {num, 0};
s($*, {num, 1}, B) -> B; s($*, A, {num, 1}) -> A; s($-, A, {num, 0}) -> A; s($-, A, A) -> {num, 0};
s($^, A, {num, 1}) -> A; s($*, {num, A}, {$*, {num, B}, C}) -> {$*, {num, A * B}, C};
s(Op, A, B) -> {Op, A, B}.

show({num, N}) -> io_lib:format("~w", [N]);
show({var, V}) -> V;
show({neg, E}) -> ["-", show(E)];
show({call, F, As}) -> [F, "(", lists:join(", ", [show(A) || A <- As]), ")"];
show({Op, A, B}) -> ["(", show(A), " ", Op, " ", show(B), ")"].
