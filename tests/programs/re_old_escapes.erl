%% \K in a lookaround, and \8 and \9 where there is no such group, were refused: PCRE2 does unless told otherwise.
-module(re_old_escapes).
-export([main/1]).

main(_) ->
    p(keep, [catch re:run(S, R, O)
             || {S, R, O} <- [{"ab", "(?=a\\Kb)ab", []}, {"ab", "(?=a\\Kb)ab", [{capture, all, list}]},
                              {"foobar", "foo\\Kbar", []}, {"ab", "(?<=\\Ka)b", []}]]),
    p(digits, [catch re:run(S, R) || {S, R} <- [{"A8B9C", "^A\\8B\\9C$"}, {"A8B9C", "^A[\\8]B[\\9]C$"}, {"aa", "(a)\\1"},
                                                {"a8", "(a)\\8"}, {"a9", "(a)\\9+$"}]]),
    p(group, re:compile("(a)\\2")),
    p(replace, [re:replace(S, "(?=a\\Kb)ab", "<&>", [global, {return, list}]) || S <- ["ab", "abab"]]),
    p(split, re:split("ab", "(?=a\\Kb)ab", [trim])).

p(What, Value) -> io:format("~w: ~0tp~n", [What, Value]).
