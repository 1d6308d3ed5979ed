%% Hindley-Milner type inference for a small lambda calculus, with let polymorphism.
-module(app_type_inference).
-export([main/1]).

main(_) ->
    Id = {lam, x, {var, x}},
    Exprs = [{int, 1}, {bool, true}, Id,
             {lam, f, {lam, x, {app, {var, f}, {app, {var, f}, {var, x}}}}},
             {'let', id, Id, {app, {app, {lam, a, {lam, b, {var, a}}}, {app, {var, id}, {int, 1}}},
                              {app, {var, id}, {bool, true}}}},
             {lam, f, {lam, g, {lam, x, {app, {var, f}, {app, {var, g}, {var, x}}}}}},
             {app, {int, 1}, {int, 2}}, {lam, x, {app, {var, x}, {var, x}}},
                 {'if', {bool, true}, {int, 1}, {bool, false}}, {var, nope},
             {'let', pair, {lam, a, {lam, b, {lam, f, {app, {app, {var, f}, {var, a}}, {var, b}}}}},
              {app, {app, {var, pair}, {int, 1}}, {bool, true}}},
                 {lam, x, {'if', {app, {var, zero}, {var, x}}, {app, {var, succ}, {var, x}},
                           {int, 0}}},
             {'let', compose,
              {lam, f, {lam, g, {lam, x, {app, {var, f}, {app, {var, g}, {var, x}}}}}},
              {app, {app, {var, compose}, {var, succ}}, {var, succ}}}],
    Env = #{zero => {[], {fn, int, bool}}, succ => {[], {fn, int, int}}},
    [io:format("~s : ~s~n",
               [show(E), try {T, S, _} = infer(Env, E, 0), type(apply_subst(S, T)) catch throw:R ->
                             io_lib:format("error ~p", [R]) end]) || E <- Exprs].

infer(_, {int, _}, N) -> {int, #{}, N};
infer(_, {bool, _}, N) -> {bool, #{}, N};
infer(Env, {var, X}, N) -> case Env of #{X := Scheme} -> {T, N1} = instantiate(Scheme, N),
                               {T, #{}, N1}; _ -> throw({unbound, X}) end;
infer(Env, {lam, X, B}, N) -> V = {tv, N}, {T, S, N1} = infer(Env#{X => {[], V}}, B, N + 1),
    {{fn, apply_subst(S, V), T}, S, N1};
infer(Env, {app, F, A}, N) ->
    {TF, S1, N1} = infer(Env, F, N),
    {TA, S2, N2} = infer(subst_env(S1, Env), A, N1),
    V = {tv, N2},
    S3 = unify(apply_subst(S2, TF), {fn, TA, V}),
    {apply_subst(S3, V), compose(S3, compose(S2, S1)), N2 + 1};
infer(Env, {'let', X, E, B}, N) ->
    {T, S1, N1} = infer(Env, E, N), Env1 = subst_env(S1, Env),
    {T2, S2, N2} = infer(Env1#{X => generalize(Env1, T)}, B, N1),
    {T2, compose(S2, S1), N2};
infer(Env, {'if', C, A, B}, N) ->
    {TC, S1, N1} = infer(Env, C, N), S2 = compose(unify(TC, bool), S1),
    {TA, S3, N2} = infer(subst_env(S2, Env), A, N1), S4 = compose(S3, S2),
    {TB, S5, N3} = infer(subst_env(S4, Env), B, N2), S6 = unify(apply_subst(S5, TA), TB),
    {apply_subst(S6, TB), compose(S6, compose(S5, S4)), N3}.

unify(T, T) -> #{};
unify({tv, A}, T) -> bind(A, T);
unify(T, {tv, A}) -> bind(A, T);
unify({fn, A, B}, {fn, C, D}) ->
    S = unify(A, C), compose(unify(apply_subst(S, B), apply_subst(S, D)), S);
unify(A, B) -> throw({mismatch, lists:flatten(type(A)), lists:flatten(type(B))}).
bind(A, T) -> case lists:member(A, free(T)) of true -> throw(infinite_type); false -> #{A => T} end.
apply_subst(S, {tv, A}) -> maps:get(A, S, {tv, A});
apply_subst(S, {fn, A, B}) -> {fn, apply_subst(S, A), apply_subst(S, B)};
apply_subst(_, T) -> T.
compose(S2, S1) -> maps:merge(S2, maps:map(fun(_, T) -> apply_subst(S2, T) end, S1)).
subst_env(S, Env) ->
    maps:map(fun(_, {Vs, T}) -> {Vs, apply_subst(maps:without(Vs, S), T)} end, Env).
free({tv, A}) -> [A];
free({fn, A, B}) -> lists:usort(free(A) ++ free(B));
free(_) -> [].
generalize(Env, T) -> {free(T) -- lists:append([free(X) -- Vs || {Vs, X} <- maps:values(Env)]), T}.
instantiate({Vs, T}, N) ->
    {apply_subst(maps:from_list([{V, {tv, N + I}}
                                 || {I, V} <- lists:zip(lists:seq(0, length(Vs) - 1), Vs)]), T),
     N + length(Vs)}.

type(T) -> Vs = maps:from_list(lists:zip(order(T), lists:seq($a, $a + length(order(T)) - 1))),
    t(T, Vs).
order(T) -> lists:reverse(lists:foldl(fun(V, A) -> case lists:member(V, A) of true -> A;
                                                       false -> [V | A] end end, [], all(T))).
all({tv, A}) -> [A];
all({fn, A, B}) -> all(A) ++ all(B);
all(_) -> [].
t({tv, A}, Vs) -> [maps:get(A, Vs)];
t({fn, {fn, _, _} = A, B}, Vs) -> ["(", t(A, Vs), ") -> ", t(B, Vs)];
t({fn, A, B}, Vs) -> [t(A, Vs), " -> ", t(B, Vs)];
t(T, _) -> atom_to_list(T).

show({int, N}) -> integer_to_list(N);
show({bool, B}) -> atom_to_list(B);
show({var, X}) -> atom_to_list(X);
show({lam, X, B}) -> ["\\", atom_to_list(X), ".", show(B)];
show({app, F, A}) -> ["(", show(F), " ", show(A), ")"];
show({'let', X, E, B}) -> ["let ", atom_to_list(X), " = ", show(E), " in ", show(B)];
show({'if', C, A, B}) -> ["if ", show(C), " then ", show(A), " else ", show(B)].
