%% A function that is called within a match of a bit string gets the context of the match; who traces
%% it sees what is left of the bits.
-module(trace_match_context).
-export([main/1, words/1]).

main(_) ->
    Self = self(),
    Tracer = spawn(fun() -> collect(Self) end),
    1 = erlang:trace(self(), true, [call, {tracer, Tracer}]),
    4 = erlang:trace_pattern({?MODULE, word, '_'}, [{'_', [], [{return_trace}]}], [local]) +
        erlang:trace_pattern({?MODULE, words, '_'}, true, [local]) +
        erlang:trace_pattern({?MODULE, blanks, '_'}, true, [local]),
    Words = words(<<"one two  three">>),
    erlang:trace(self(), false, [call]),
    Ref = erlang:trace_delivered(self()),
    receive {trace_delivered, _, Ref} -> ok end,
    Tracer ! stop,
    receive done -> ok end,
    io:format("~p~n", [Words]).

words(Text) -> words(Text, []).
words(<<>>, Words) -> lists:reverse(Words);
words(<<$\s, Rest/binary>>, Words) -> blanks(Rest, Words);
words(<<Rest/binary>>, Words) -> word(Rest, [], Words).

blanks(<<$\s, Rest/binary>>, Words) -> blanks(Rest, Words);
blanks(<<Rest/binary>>, Words) -> words(Rest, Words).

word(<<C, Rest/binary>>, Word, Words) when C =/= $\s -> word(Rest, [C | Word], Words);
word(<<Rest/binary>>, Word, Words) -> words(Rest, [lists:reverse(Word) | Words]).

collect(Main) ->
    receive
        stop -> Main ! done;
        {trace, _, call, {_, F, Args}} -> io:format("call ~p ~p~n", [F, Args]), collect(Main);
        {trace, _, return_from, {_, F, A}, Value} ->
            io:format("~p/~p returned ~p~n", [F, A, Value]), collect(Main)
    end.
