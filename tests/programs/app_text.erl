%% Text work: justify, Caesar, Soundex, Roman numerals, anagrams, palindromes, edit script, run
%% lengths.
-module(app_text).
-export([main/1]).

main(_) ->
    T = "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the epoch of belief",
    [io:format("|~s|~n", [L]) || L <- justify(string:lexemes(T, " "), 34)],
    io:format("~s~n~s~n", [caesar(T, 13), caesar(caesar(T, 13), 13)]),
    io:format("~p~n", [[{W, soundex(W)} || W <- ["Robert", "Rupert", "Ashcraft", "Tymczak",
                                                 "Pfister", "Honeyman"]]]),
    io:format("~p~n",
              [[{N, roman(N), arabic(roman(N))} || N <- [1, 4, 9, 14, 40, 90, 400, 1994, 2023,
                                                         3999]]]),
    true = lists:all(fun(N) -> arabic(roman(N)) =:= N end, lists:seq(1, 3999)),
    io:format("~p~n", [anagrams(["listen", "silent", "enlist", "google", "elgoog", "abc"])]),
    io:format("~p~n", [[palindrome(S) || S <- ["A man, a plan, a canal: Panama", "hello", ""]]]),
    io:format("~p~n", [diff("kitten sitting", "sitting kitten")]),
    io:format("~s~n", [spell(1234567890)]),
    io:format("~p~n", [[spell(N) || N <- [0, 7, 13, 21, 100, 111, 1000, 1000001]]]),
    io:format("~p~n", [rle("aaabbbccd")]),
    io:format("~s~n",
              [lists:join("\n", table([["name", "qty", "price"], ["apple", 3, 1.5],
                                       ["banana", 12, 0.25], ["cherry", 100, 12.125]]))]).

justify(Words, W) -> lines(Words, W, [], 0).
lines([], _, Line, _) -> [lists:append(lists:join(" ", lists:reverse(Line)))];
lines([H | T], W, Line, Len) when Len + length(H) + length(Line) =< W ->
    lines(T, W, [H | Line], Len + length(H));
lines(Ws, W, Line, Len) -> [spread(lists:reverse(Line), W - Len) | lines(Ws, W, [], 0)].
spread([X], _) -> X;
spread([H | T], Gap) ->
    G = (Gap + length(T) - 1) div length(T), H ++ lists:duplicate(G, $ ) ++ spread(T, Gap - G).

caesar(T, N) -> [rot(C, N) || C <- T].
rot(C, N) when C >= $a, C =< $z -> (C - $a + N) rem 26 + $a;
rot(C, N) when C >= $A, C =< $Z -> (C - $A + N) rem 26 + $A;
rot(C, _) -> C.

soundex([H | T]) ->
    string:slice([H | digits(string:to_lower(T), code(string:to_lower(H)))] ++ "000", 0, 4).
digits([], _) -> [];
digits([C | T], P) when C =:= $h; C =:= $w -> digits(T, P);
digits([C | T], P) ->
    case code(C) of 0 -> digits(T, 0); P -> digits(T, P); D -> [D + $0 | digits(T, D)] end.
code(C) ->
    case lists:keyfind(true, 1, [{lists:member(C, S), N}
                                 || {N, S} <- [{1, "bfpv"}, {2, "cgjkqsxz"}, {3, "dt"}, {4, "l"},
                                               {5, "mn"}, {6, "r"}]]) of {_, N} -> N;
        false -> 0 end.

roman(N) -> roman(N, [{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"},
                      {50, "L"}, {40, "XL"}, {10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}]).
roman(0, _) -> [];
roman(N, [{V, S} | _] = L) when N >= V -> S ++ roman(N - V, L);
roman(N, [_ | T]) -> roman(N, T).
arabic(S) -> element(1, lists:foldr(fun(C, {Sum, Prev}) -> V = value(C),
                                        {if V < Prev -> Sum - V; true -> Sum + V end, V} end,
                                    {0, 0}, S)).
value($I) -> 1; value($V) -> 5; value($X) -> 10; value($L) -> 50; value($C) -> 100;
value($D) -> 500; value($M) -> 1000.

anagrams(Ws) ->
    lists:sort([lists:sort(G)
                || G <- maps:values(lists:foldl(fun(W, M) ->
                                                    maps:update_with(lists:sort(W),
                                                            fun(L) -> [W | L] end, [W], M) end, #{},
                                                Ws)), length(G) > 1]).
palindrome(S) -> L = [C || C <- string:to_lower(S), C >= $a, C =< $z], L =:= lists:reverse(L).

diff(A, B) -> {_, Script} = lcs(A, B, #{}), Script.
lcs(A, B, _) -> element(1, lcs2(A, B, #{})).
lcs2([], [], M) -> {{0, []}, M};
lcs2([], B, M) -> {{length(B), [{add, B}]}, M};
lcs2(A, [], M) -> {{length(A), [{del, A}]}, M};
lcs2([H | A], [H | B], M) -> {{N, S}, M1} = memo(A, B, M), {{N, [keep(H) | S]}, M1};
lcs2([X | A] = FullA, [Y | B] = FullB, M) ->
    {{N1, S1}, M1} = memo(A, FullB, M), {{N2, S2}, M2} = memo(FullA, B, M1),
    {if N1 =< N2 -> {N1 + 1, [{del, [X]} | S1]}; true -> {N2 + 1, [{add, [Y]} | S2]} end, M2}.
memo(A, B, M) -> K = {length(A), length(B)}, case M of #{K := R} -> {R, M};
                                                 _ -> {R, M1} = lcs2(A, B, M), {R, M1#{K => R}} end.
keep(C) -> {keep, [C]}.

spell(0) -> "zero";
spell(N) -> string:trim(say(N)).
say(0) -> "";
say(N) when N < 20 -> element(N, {"one", "two", "three", "four", "five", "six", "seven", "eight",
                                  "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
                                  "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"});
say(N) when N < 100 -> element(N div 10, {x, "twenty", "thirty", "forty", "fifty", "sixty",
                                          "seventy", "eighty", "ninety"}) ++ case N rem 10 of 0 ->
                                                  ""; R -> "-" ++ say(R) end;
say(N) when N < 1000 -> say(N div 100) ++ " hundred " ++ say(N rem 100);
say(N) -> {D, W} = hd([{D, W} || {D, W} <- [{1000000000, " billion "}, {1000000, " million "},
                                            {1000, " thousand "}], N >= D]),
    say(N div D) ++ W ++ say(N rem D).

rle([]) -> [];
rle([H | T]) -> {S, R} = lists:splitwith(fun(C) -> C =:= H end, T), [{H, length(S) + 1} | rle(R)].

table(Rows) ->
    Cells = [[cell(C) || C <- R] || R <- Rows],
    Ws = lists:foldl(fun(R, A) -> lists:zipwith(fun max/2, [length(C) || C <- R], A) end, [0, 0, 0],
                     Cells),
    [lists:append([io_lib:format("~*s ", [W, C]) || {W, C} <- lists:zip(Ws, R)]) || R <- Cells].
cell(C) when is_list(C) -> C;
cell(C) when is_integer(C) -> integer_to_list(C);
cell(C) -> float_to_list(C, [{decimals, 2}]).
