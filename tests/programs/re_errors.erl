%% re: what patterns are refused with, where, and what bad arguments give.
-module(re_errors).
-export([main/1]).

main(_) ->
    [io:format("~0tp ~0tp~n", [B, shown(re:compile(B))])
     || B <- ["(", "[", "a**", "*", "a{2,1}", "(?<n>a)(?<n>b)", "\\", "(?P<", "(?z)", "[z-a]", "[[:foo:]]",
              "(?<n", "a)", "(?(1)a|b|c)", "\\1", "(?1)", "(?<=a*)", "\\p{Foo}", "\\x{110000}", "(?#",
              "\\c", "(?C256)", "\\k", "(?'n", "(*FOO)", "(?-i", "x{70000}", "(?<1a>x)",
              "\\N{x}", "(?&foo)", "(?P>foo)", "(?P=foo)", "\\p", "\\u", "\\L", "+", "?", "(?|a", "[]",
              "[^]", "(?!", "(?<!a+)", "abc)def", "(a(b(c)", "[a-z", "x{5}{3", "a|*", "(?:", "(?=a", "(?P",
              "(?(DEFINE)a|b)", "[[.a.]]", "\\o", "\\x{zz}"]],
    [io:format("~0w ~0p~n", [B, re:compile(B, [unicode])])
     || B <- ["\\x{d800}", "(\x{400}", "\x{400}\x{401}[", <<"a", 255>>]],
    io:format("~0p~n", [re:compile("(*UTF8)a", [never_utf])]),
    {ok, MP} = re:compile("a(?<n>b)"),
    [io:format("~p ~0tp: ~0tp~n", [F, [shown(A) || A <- As], failure(F, As)])
     || {F, As} <- [{run, ["a", "["]}, {run, ["a", "[", []]}, {run, ["a", "[", [report_errors]]},
                    {run, ["a", "a", [foo]]}, {run, ["a", "a", [{capture, foo}]]},
                    {run, ["a", "a", [{capture, all, foo}]]}, {run, [foo, "a", []]},
                    {run, ["a", {re_pattern, 1, 0, 0, <<"x">>}, []]}, {run, ["a", "a", [global | x]]},
                    {run, [[400], "a", []]}, {run, ["abc", "b", [{offset, -1}]]},
                    {run, ["abc", "b", [{offset, x}]]}, {run, ["a", MP, [caseless]]},
                    {run, ["a", MP, [unicode]]}, {run, ["a", "[", [global]]},
                    {run, ["a", "[", [global, report_errors]]}, {run, ["a", "a", [global, foo]]},
                    {run, [<<1:7>>, "a"]}, {run, ["a", <<1:7>>]}, {run, ["a", foo]},
                    {run, ["a", "a", [{newline, x}]]}, {run, ["a", "a", [{match_limit, -1}]]},
                    {split, ["abc", "["]}, {replace, ["abc", "[", "x"]}, {replace, ["abc", "a", foo]},
                    {compile, [foo]}, {compile, ["a", [foo]]}, {compile, [<<1:3>>]}, {compile, [[400]]},
                    {compile, ["a", [notempty]]}, {compile, ["a", [{newline, foo}]]},
                    {compile, ["a", [anchored | x]]}, {inspect, [x, namelist]}, {inspect, [MP, foo]},
                    {inspect, [MP, namelist]}]].

failure(F, As) ->
    try apply(re, F, As)
    catch
        Class:Reason:Stack ->
            {M, F1, Args, Info} = hd(Stack),
            {Class, Reason, M, F1, length(Args), proplists:get_value(error_info, Info)}
    end.

shown({ok, MP}) -> {ok, shown(MP)};
shown({re_pattern, N, U, C, B}) when byte_size(B) > 5 -> {re_pattern, N, U, C};
shown(X) -> X.
