%% Lines, words and characters, and the ten most frequent words, of files or of standard input.
%%
%%     minivm run wordcount.beam FILE ...
%%     minivm run wordcount.beam < FILE
%%     minivm run wordcount.beam --poem       its own poem
-module(wordcount).
-export([main/1]).

-define(TOP, 10).

main(["--poem"]) ->
    report("poem", count(poem()));
main([]) ->
    report("standard input", count(standard_input([])));
main(Files) ->
    %% A process a file; the answers are printed in the order of the arguments.
    Main = self(),
    [spawn_link(fun() -> Main ! {counted, File, count_file(File)} end) || File <- Files],
    [receive {counted, File, Result} -> report(File, Result) end || File <- Files],
    ok.

count_file(File) ->
    case file:read_file(File) of
        {ok, Text} -> count(Text);
        {error, Reason} -> {error, Reason}
    end.

standard_input(Lines) ->
    case io:get_line("") of
        eof -> unicode:characters_to_binary(lists:reverse(Lines));
        Line -> standard_input([Line | Lines])
    end.

count(Text) ->
    Lines = length(binary:matches(Text, <<"\n">>)),
    Words = words(Text, <<>>, []),
    {Lines, length(Words), string:length(Text), frequent(Words)}.

%% A word is a run of letters; letters beyond ASCII count, whatever their case.
words(<<C/utf8, Rest/binary>>, Word, Words) ->
    case is_letter(C) of
        true -> words(Rest, <<Word/binary, C/utf8>>, Words);
        false -> words(Rest, <<>>, add(Word, Words))
    end;
words(<<_, Rest/binary>>, Word, Words) ->  % a byte that is no UTF-8
    words(Rest, <<>>, add(Word, Words));
words(<<>>, Word, Words) ->
    add(Word, Words).

add(<<>>, Words) -> Words;
add(Word, Words) -> [string:lowercase(Word) | Words].

is_letter(C) when C >= $a, C =< $z; C >= $A, C =< $Z; C =:= $' -> true;
is_letter(C) -> C >= 16#C0 andalso C =/= 16#D7 andalso C =/= 16#F7 andalso
                    not (C >= 16#2000 andalso C < 16#2070).

frequent(Words) ->
    Counts = lists:foldl(fun(W, M) -> M#{W => maps:get(W, M, 0) + 1} end, #{}, Words),
    %% Most frequent first; words of the same count in their order.
    Sorted = lists:sort([{-N, W} || {W, N} <- maps:to_list(Counts)]),
    [{W, -N} || {N, W} <- lists:sublist(Sorted, ?TOP)].

report(Name, {error, Reason}) ->
    io:format("~ts: ~ts~n", [Name, file:format_error(Reason)]),
    halt(1);
report(Name, {Lines, Words, Chars, Top}) ->
    io:format("~ts: ~b lines, ~b words, ~b characters~n", [Name, Lines, Words, Chars]),
    [io:format("~6b  ~ts~n", [N, W]) || {W, N} <- Top].

poem() ->
    <<"A process sleeps until a message comes,\n"
      "a message comes, a process wakes and runs;\n"
      "it sends a message, and it sleeps again:\n"
      "a process in the sun, a process in the rain.\n"/utf8>>.
