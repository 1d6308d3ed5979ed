%% erl_scan, erl_parse, erl_eval, erl_pp: reading and running Erlang from text.
-module(lib_erl_eval).
-export([main/1]).

main(_) ->
    Texts = ["1 + 2 * 3.", "X = 5, X * X.", "lists:map(fun(A) -> A * A end, [1, 2, 3]).",
             "case {a, 1} of {a, N} when N > 0 -> N; _ -> no end.", "[X || X <- [1, 2, 3], X > 1].",
             "<<1, 2, \"abc\">>.", "<<A:4, B:4>> = <<16#5A>>, {A, B}.",
             "#{a => 1, b => \"two\"}.", "M = #{k => v}, M#{k := w}.",
             "try throw(x) catch throw:T -> {caught, T} end.", "begin Y = 3, Y end.",
                 "if 1 > 2 -> a; true -> b end.", "fun F(0) -> 1; F(N) -> N * F(N - 1) end(20).",
             "\"str\" ++ [$a].", "'quoted atom'.", "1.5e3 / 2.", "16#FF + 2#101 + $a.",
             "{ok, X} = {error, 1}.", "1 / 0.", "foo:bar(1).", "X.", "catch error(boom).",
                 "receive after 0 -> timeout end.", "not true orelse false andalso x.",
                 "<< <<X>> || X <- [1, 2, 3] >>.",
             "hd([]).", "self() =:= self().", "length([1,2,3]) band 2.",
             "(fun(A, B) -> {B, A} end)(1, 2).", "apply(erlang, abs, [-3]).",
                 "element(2, {a, b})."],
    [io:format("~s => ~p~n", [T, eval(T)]) || T <- Texts],
    Broken = ["1 + .", "foo(", "X = ", "'unterminated", "\"no end", "1 2.", "16#GG.",
              "case x of end.", "$", "a b c."],
    [io:format("~s => ~p~n", [T, broken(T)]) || T <- Broken],
    {ok, Tokens, End} = erl_scan:string("foo(X, \"s\") -> X + 1.5; % comment\n 'b c' 16#1F."),
    io:format("~p ~p~n", [Tokens, End]),
    {ok, FT, _} = erl_scan:string("fact(0) -> 1; fact(N) when N > 0 -> N * fact(N - 1)."),
    {ok, Form} = erl_parse:parse_form(FT),
    io:format("~p~n~s", [Form, erl_pp:form(Form)]),
    {ok, T1, _} = erl_scan:string("{a, [1, 2 | X], #{k => <<\"b\">>}, fun lists:map/2}."),
    {ok, [E]} = erl_parse:parse_exprs(T1),
    io:format("~s~n", [erl_pp:expr(E)]),
    {ok, T2, _} = erl_scan:string("{point, [1, 2.5, \"s\", <<\"b\">>], #{a => b}, -3}."),
    io:format("~p~n", [erl_parse:parse_term(T2)]),
    io:format("~p~n", [erl_parse:normalise(erl_parse:abstract({a, [1, "x"], <<"b">>, 2.5}))]).

eval(Text) ->
    {ok, Ts, _} = erl_scan:string(Text),
    {ok, Es} = erl_parse:parse_exprs(Ts),
    try erl_eval:exprs(Es, erl_eval:new_bindings()) of
        {value, V, B} when is_function(V) -> {a_fun, erl_eval:bindings(B)};
        {value, {'EXIT', {R, _}}, _} -> {exit, R};
        {value, V, B} -> {V, lists:sort(erl_eval:bindings(B))}
    catch
        C:R -> {C, R}
    end.

broken(Text) ->
    case erl_scan:string(Text) of
        {ok, Ts, _} ->
            case erl_parse:parse_exprs(Ts) of
                {error, {L, M, D}} -> {parse, L, lists:flatten(M:format_error(D))};
                {ok, _} -> parsed
            end;
        {error, {L, M, D}, _} -> {scan, L, lists:flatten(M:format_error(D))}
    end.
