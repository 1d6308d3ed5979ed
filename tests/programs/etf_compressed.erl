%% Compressed terms are inflated in slices that count reductions, and so are long chains of empty lists.
-module(etf_compressed).
-export([main/1]).

main(_) ->
    Zeros = term_to_binary(binary:copy(<<0>>, 16 bsl 20), [compressed]),
    p(zeros, costs(fun() -> byte_size(binary_to_term(Zeros)) end)),
    Chain = <<131, (binary:copy(<<108, 0:32>>, 1 bsl 20))/binary, 106>>,
    p(chain, costs(fun() -> binary_to_term(Chain) end)),
    Whole = term_to_binary([{N, N * 1.5, [N]} || N <- lists:seq(1, 50000)], [compressed]),
    <<131, 80, Size:32, Packed/binary>> = Whole,
    p(same, erlang:phash2(binary_to_term(Whole))),
    p(sizes, [decode(<<131, 80, N:32, Packed/binary>>) || N <- [0, 1, Size - 1, Size, Size + 1, 2 * Size]]),
    p(cut, [decode(binary:part(Whole, 0, N)) || N <- [5, 6, 7, 20, byte_size(Whole) div 2, byte_size(Whole) - 1]]),
    {Term, Used} = binary_to_term(<<Whole/binary, 1, 2, 3>>, [used]),
    p(used, {length(Term), Used =:= byte_size(Whole)}),
    p(changed, decode(binary:part(Whole, 0, 5000), <<0:800>>, binary:part(Whole, 5100, byte_size(Whole) - 5100))),
    p(no_term, decode(<<131, 80, 3:32, (zlib:compress(<<255, 255, 255>>))/binary>>)),
    p(nothing, decode(<<131, 80, 0:32, (zlib:compress(<<>>))/binary>>)).

costs(F) ->
    {reductions, Before} = process_info(self(), reductions),
    Result = F(),
    {reductions, After} = process_info(self(), reductions),
    {Result, After - Before > 10000}.

decode(A, B, C) -> decode(<<A/binary, B/binary, C/binary>>).
decode(Bytes) ->
    try length(binary_to_term(Bytes)) catch error:Why -> Why end.

p(What, Value) -> io:format("~p: ~p~n", [What, Value]).
