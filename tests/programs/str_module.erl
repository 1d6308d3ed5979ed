%% Module string: the functions on grapheme clusters, lists and binaries alike.
-module(str_module).
-export([main/1]).

main(_) ->
    S = "Hello, Wörld", B = <<"Hello, Wörld"/utf8>>, E = [$e, 16#301, $x, 16#1F468, 16#200D, 16#1F469, 16#200D, 16#1F467, $\r, $\n, $z],
    io:format("~p~n", [[string:length(X) || X <- [S, B, E, "", ["ab", [<<"cd">>]]]]]),
    io:format("~tp~n", [string:to_graphemes(E)]),
    io:format("~tp ~tp~n", [string:reverse(S), string:reverse(E)]),
    io:format("~tp~n", [[string:uppercase(X) || X <- [S, B, "straße", "ǆ", "ŉ"]]]),
    io:format("~tp~n", [[string:lowercase(X) || X <- [S, "ÅÄÖ ΑΣ", "İ"]]]),
    io:format("~tp~n", [[string:titlecase(X) || X <- ["hello world", "ǆabc", <<"éa"/utf8>>]]]),
    io:format("~tp~n", [[string:casefold(X) || X <- ["Straße", "ΣΑΣ"]]]),
    io:format("~p~n", [[string:equal("é", [$e, 16#301], C, N) || C <- [false, true], N <- [none, nfc, nfd]]]),
    io:format("~p~n", [[string:equal("ABC", "abc", true), string:equal("ABC", <<"ABC">>), string:equal("a", "b")]]),
    io:format("~tp~n", [[string:slice(S, 7), string:slice(S, 7, 2), string:slice(B, 1, 3), string:slice(E, 1, 2), string:slice(S, 50), string:slice(S, 3, 0)]]),
    io:format("~tp~n", [[string:split("a-b-c", "-", D) || D <- [leading, trailing, all]]]),
    io:format("~tp~n", [[string:split(<<"a--b">>, "--"), string:split("abc", "x"), string:split("", ""), string:split("aXbXc", <<"X">>, all)]]),
    io:format("~tp~n", [[string:replace("a-b-c", "-", "+", D) || D <- [leading, trailing, all]]]),
    io:format("~tp~n", [[string:lexemes(" a b,,c d ", " ,"), string:lexemes(<<"x;y">>, ";"), string:lexemes("", " "), string:lexemes("a\r\nb", ["\r\n"])]]),
    io:format("~tp~n", [[string:nth_lexeme("a b c", 2, " "), string:nth_lexeme("a b c", 9, " ")]]),
    io:format("~tp~n", [[string:trim("  x y  ", D) || D <- [leading, trailing, both]]]),
    io:format("~tp~n", [[string:trim("xxaxx", both, "x"), string:trim(<<"\t a\n">>), string:trim("..a.", leading, ".")]]),
    io:format("~tp~n", [[string:pad("ab", 6, D) || D <- [leading, trailing, both]]]),
    io:format("~tp~n", [[lists:flatten(string:pad("ab", 7, both, $*)), string:pad("abc", 2)]]),
    io:format("~tp~n", [[string:find(S, "W"), string:find(S, "l", trailing), string:find(B, "lo"), string:find(S, "zz"), string:find("abc", "")]]),
    io:format("~tp~n", [[string:prefix(S, "Hello"), string:prefix(S, "x"), string:prefix(B, "Hel"), string:prefix("abc", "")]]),
    io:format("~tp~n", [[string:take("abc123", lists:seq($a, $z)), string:take("abc123", lists:seq($0, $9), true), string:take("abc123", "123", false, trailing)]]),
    io:format("~tp~n", [[string:next_grapheme(E), string:next_codepoint(B), string:next_codepoint("")]]),
    io:format("~p~n", [[string:is_empty(X) || X <- ["", <<>>, [[]], "a", [<<>>, []]]]]),
    io:format("~p~n", [[string:str("hello", "l"), string:rstr("hello", "l"), string:chr("abc", $c), string:rchr("abca", $a), string:substr("hello", 2, 3), string:tokens("a b c", " "), string:strip("  a "), string:left("abc", 5), string:right("abc", 5, $.),
                        string:centre("ab", 6), string:copies("ab", 3), string:words("a b c"), string:sub_word("one two", 2), string:join(["a", "b", "c"], ", "), string:to_upper("aé"), string:to_lower($A), string:concat("a", "b"), string:span("aab", "a"), string:cspan("aab", "b")]]),
    io:format("~p~n", [[try F() catch C1:R1 -> {C1, R1} end || F <- [fun() -> string:length(a) end, fun() -> string:slice("abc", -1) end, fun() -> string:uppercase(<<255>>) end, fun() -> string:length([-1]) end]]]).
