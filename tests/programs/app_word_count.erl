%% Words and lines of standard input, counted; the most frequent ones printed.
-module(app_word_count).
-export([main/1]).

main(_) ->
    {Lines, Words, Chars, Freq} = read(0, 0, 0, #{}),
    io:format("~p ~p ~p~n", [Lines, Words, Chars]),
    Top = lists:sublist(lists:sort(fun({A, N}, {B, M}) -> {-N, A} =< {-M, B} end,
                                   maps:to_list(Freq)), 15),
    [io:format("~5w ~ts~n", [N, W]) || {W, N} <- Top].

read(L, W, C, F) ->
    case io:get_line("") of
        eof -> {L, W, C, F};
        Line ->
            Ws = [string:lowercase(X) || X <- string:lexemes(Line, " ,.;:!?\"()\n\t-")],
            read(L + 1, W + length(Ws), C + length(Line),
                 lists:foldl(fun(X, M) -> maps:update_with(X, fun(N) -> N + 1 end, 1, M) end, F,
                             Ws))
    end.
