%% re: which captures come back, in which form, by number and by name; global matches.
-module(re_captures).
-export([main/1]).

main(_) ->
    p(caps, [re:run("abcd", "(a)(x)?(b)(y)?", [{capture, V, T}])
             || V <- [all, all_but_first, first, none, [1, 2, 3, 4, 5], [0], [], all_names],
                T <- [index, list, binary]]),
    p(names, [re:run("abcd", "(?<B>a)(?<A>b)(?<C>z)?", [{capture, V, T}])
              || V <- [all_names, ['A', "B", nope, "C"], ["A"], [<<"A">>, 1]], T <- [index, list, binary]]),
    p(dup, [re:run("b", "(?<A>a)|(?<A>b)", [dupnames, {capture, V, list}]) || V <- [['A'], all_names]]),
    {ok, MP} = re:compile("(?<B>a)(?<A>b)(?<C>z)?"),
    p(inspect, re:inspect(MP, namelist)),
    p(tuple, setelement(5, MP, x)),
    p(no_names, re:inspect(element(2, re:compile("a")), namelist)),
    p(subjects, [re:run(S, R, [{capture, all, binary}])
                 || S <- [<<"abc">>, ["a", <<"b">> | <<"c">>], [[[]], "abc"]], R <- [<<"b.">>, ["b", $.], "z"]]),
    p(global, [re:run("aXbXc", "X?", [global | O])
               || O <- [[], [{capture, first, list}], [{capture, none}], [{capture, all, binary}],
                        [{offset, 2}], [notempty]]]),
    p(global_names, re:run("k1=v1;k2=v2", "(?<k>\\w+)=(?<v>\\w+)", [global, {capture, [v, k], list}])),
    p(all_names, re:run("k1=v1;k2=v2", "(?<k>\\w+)=(?<v>\\w+)", [global, {capture, all_names, binary}])),
    p(lookbehind, re:run("foobar", "(?<=foo)bar", [{capture, all, list}])),
    p(keep, re:run("foobar", "foo\\Kbar")),
    p(backrefs, re:run("abab xyxy", "(\\w\\w)\\1 (?<n>..)\\k<n>", [{capture, all, list}])),
    p(recursion, re:run("x(a(b)c)y", "\\((?:[^()]|(?R))*\\)", [{capture, all, list}])),
    p(conditional, [re:run(S, "^(<)?a(?(1)>|!)$", [{capture, none}]) || S <- ["<a>", "a!", "<a!", "a>"]]),
    p(atomic, [re:run("aaab", R, [{capture, none}]) || R <- ["(?>a+)b", "(?>a+)ab", "a++b", "a++ab"]]),
    p(offset, [re:run("abcabc", "b", [{offset, O}]) || O <- [0, 1, 2, 5, 6]]),
    p(replace, [re:replace("abcd", "b(c)", R, [{return, list} | O])
                || R <- ["[&]", "[\\1]", "[\\g{1}]", "\\&", "\\\\", ""], O <- [[], [global]]]),
    p(replace_global, re:replace("hello world", "o", "0", [global, {return, binary}])),
    p(iodata, iolist_to_binary(re:replace("hello", "l+", <<"L">>))),
    p(split, [re:split("a1b22c333d", "([0-9])[0-9]*", [{return, list} | O])
              || O <- [[], [group], [trim], [{parts, 2}], [{parts, 2}, group]]]),
    p(split_empty, [re:split(S, R, [{return, list}]) || S <- ["", "abc", ",a,,b,"], R <- ["", ",", "b"]]),
    Long = binary:copy(<<"lorem ipsum dolor ">>, 2000),
    {match, All} = re:run(Long, "(\\w+)or\\b", [global, {capture, all_but_first, binary}]),
    p(long, {length(All), hd(All), lists:last(All)}).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).
