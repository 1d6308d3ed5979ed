%% Huffman codes: a priority queue, a tree, maps of codes, bit strings both ways.
-module(b_huffman).
-define(REPEAT, 130).
-include("bench.hrl").

once() ->
    T = binary:copy(<<"she sells sea shells by the sea shore; 0123456789 ">>, 200),
    Freq = lists:foldl(fun(C, M) -> M#{C => maps:get(C, M, 0) + 1} end, #{}, binary_to_list(T)),
    Tree = build(gb_sets:from_list([{N, C, C} || {C, N} <- maps:to_list(Freq)])),
    Codes = maps:from_list(codes(Tree, <<>>)),
    Bits = << <<(maps:get(C, Codes))/bits>> || <<C>> <= T >>,
    {bit_size(Bits), decode(Bits, Tree, Tree, <<>>) =:= T}.

build(Q) ->
    {{N1, C1, A}, Q1} = gb_sets:take_smallest(Q),
    case gb_sets:is_empty(Q1) of
        true -> A;
        false -> {{N2, _, B}, Q2} = gb_sets:take_smallest(Q1),
            build(gb_sets:add({N1 + N2, C1, {A, B}}, Q2))
    end.

codes({A, B}, P) -> codes(A, <<P/bits, 0:1>>) ++ codes(B, <<P/bits, 1:1>>);
codes(C, P) -> [{C, P}].

decode(Bits, C, Root, Acc) when is_integer(C) -> decode(Bits, Root, Root, <<Acc/binary, C>>);
decode(<<0:1, R/bits>>, {A, _}, Root, Acc) -> decode(R, A, Root, Acc);
decode(<<1:1, R/bits>>, {_, B}, Root, Acc) -> decode(R, B, Root, Acc);
decode(<<>>, _, _, Acc) -> Acc.
