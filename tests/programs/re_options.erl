%% re: every option of compile and run, newlines, Latin-1 and Unicode, limits.
-module(re_options).
-export([main/1]).

main(_) ->
    p(newlines, [re:run("a\r\nb", "^b", [multiline, {newline, N}]) || N <- [cr, lf, crlf, any, anycrlf]]),
    {ok, M} = re:compile("a$.^b", [multiline, dotall]),
    p(run_newline, [re:run(S, M, [{newline, N}, {capture, none}])
                    || N <- [cr, lf, crlf, any], S <- ["a\nb", "a\rb"]]),
    p(crlf_flag, [element(4, element(2, re:compile("a", [{newline, N}])))
                  || N <- [cr, lf, crlf, any, anycrlf]]),
    p(flags, [setelement(5, element(2, re:compile("(a)(?:b)(c)", O)), x)
              || O <- [[], [unicode], [no_auto_capture], [caseless]]]),
    p(line_ends, [re:run(S, "^\\R$", [{capture, none} | O])
            || S <- ["\n", "\v", "\r\n", [133]], O <- [[], [bsr_anycrlf], [bsr_unicode]]]),
    p(classes, [{C, P, O, re:run([C], P, [{capture, none} | O])}
                || C <- [228, 196, $a, $_, $\n, 160, 173, 215, 181],
                   P <- ["\\w", "\\s", "\\d", "[[:alpha:]]", "[[:punct:]]", "[[:upper:]]", "\\p{Lu}"],
                   O <- [[], [unicode], [unicode, ucp]]]),
    p(caseless, [re:run([A], [B], [{capture, none} | O])
                 || {A, B} <- [{196, 228}, {228, 196}, {223, 7838}, {$K, 8490}, {181, 924}, {181, 956}],
                    O <- [[caseless, unicode], [unicode]]]),
    p(latin1_caseless, [re:run([A], [B], [caseless, {capture, none}])
                        || {A, B} <- [{196, 228}, {228, 196}, {215, 247}, {222, 254}, {255, 223}]]),
    p(unicode, [re:run(S, P, [unicode | O])
                || {S, P} <- [{"åäö€", "ä."}, {<<"åäö€"/utf8>>, <<"ä."/utf8>>}, {"x€y", "[^x]"}, {"a", "€"}],
                   O <- [[], [{capture, all, list}], [{capture, all, binary}], [global],
                         [global, {capture, all, list}]]]),
    p(verb, [re:run(<<195, 164>>, "(*UTF8)^.$"), re:run(<<195, 164>>, "^.$"),
             re:run("a\rb", "(*CR)a$", [multiline])]),
    p(anchored, [re:run("ab", "b", [anchored]), re:run("ab", "a", [anchored]),
                 re:run("ab", element(2, re:compile("b", [anchored])))]),
    p(dollar, [re:run("a\n", "a$", O) || O <- [[], [dollar_endonly], [multiline]]]),
    p(dotall, [re:run("a\nb", "a.b", O) || O <- [[], [dotall]]]),
    p(extended, [re:run("ab", " a # comment\n b ", O) || O <- [[], [extended]]]),
    p(firstline, [re:run("a\nb", "b", O) || O <- [[], [firstline]]]),
    p(ungreedy, [re:run("aaa", R, O) || R <- ["a+", "a+?"], O <- [[], [ungreedy]]]),
    p(no_auto, re:run("ab", "(a)(?<x>b)", [no_auto_capture])),
    p(notbol, [re:run("a", "^a", O) || O <- [[], [notbol]]]),
    p(noteol, [re:run("a", "a$", O) || O <- [[], [noteol]]]),
    p(notempty, [re:run("aab", "a*?", O) || O <- [[], [notempty], [notempty_atstart]]]),
    p(start, re:run("xab", "ab", [no_start_optimize])),
    Many = lists:duplicate(30, $a) ++ "c",
    p(limits, [re:run(Many, "(a|aa)+[bd]", [{match_limit, 100}, {capture, none} | O])
               || O <- [[], [report_errors]]]),
    p(hard, re:run(lists:duplicate(22, $a) ++ "c", "^(a|aa)+[bd]", [{capture, none}])),
    p(unlimited, re:run(Many, "a+", [{match_limit, 1000000}, {match_limit_recursion, 100000}])).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).
