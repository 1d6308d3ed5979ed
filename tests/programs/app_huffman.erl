%% Huffman coding with gb_sets as the priority queue; bit strings as output; decoding by the tree.
-module(app_huffman).
-export([main/1]).

main(_) ->
    Texts = [<<"abracadabra">>, <<"a">>, <<"aaaa">>,
             binary:copy(<<"the quick brown fox jumps over the lazy dog. ">>, 50),
             << <<(I * I rem 251)>> || I <- lists:seq(1, 3000) >>],
    lists:foreach(fun(T) ->
                          {Tree, Bits} = encode(T),
                          T = decode(Tree, Bits, <<>>),
                          io:format("~p bytes -> ~p bits, hash ~p~n",
                                    [byte_size(T), bit_size(Bits), erlang:phash2(Bits)])
                  end, Texts),
    {Tree, Bits} = encode(<<"abracadabra">>),
    io:format("~p~n~p~n~p~n", [Tree, Bits, lists:sort(maps:to_list(codes(Tree, <<>>, #{})))]).

encode(Text) ->
    Freq = lists:foldl(fun(C, M) -> M#{C => maps:get(C, M, 0) + 1} end, #{}, binary_to_list(Text)),
    Q = gb_sets:from_list([{N, C, {leaf, C}} || {C, N} <- maps:to_list(Freq)]),
    Tree = build(Q),
    Codes = codes(Tree, <<>>, #{}),
    {Tree, << <<(maps:get(C, Codes))/bits>> || <<C>> <= Text >>}.

build(Q) ->
    {{N1, C1, A}, Q1} = gb_sets:take_smallest(Q),
    case gb_sets:is_empty(Q1) of
        true -> A;
        false ->
            {{N2, C2, B}, Q2} = gb_sets:take_smallest(Q1),
            build(gb_sets:add({N1 + N2, min(C1, C2), {node, A, B}}, Q2))
    end.

codes({leaf, C}, <<>>, M) -> M#{C => <<0:1>>};
codes({leaf, C}, Bits, M) -> M#{C => Bits};
codes({node, A, B}, Bits, M) -> codes(B, <<Bits/bits, 1:1>>, codes(A, <<Bits/bits, 0:1>>, M)).

decode({leaf, _}, <<>>, Acc) -> Acc;
decode({leaf, C} = T, <<_:1, R/bits>>, Acc) -> decode(T, R, <<Acc/binary, C>>);
decode(T, Bits, Acc) -> walk(T, T, Bits, Acc).
walk(T, {leaf, C}, Bits, Acc) -> walk(T, T, Bits, <<Acc/binary, C>>);
walk(_, _, <<>>, Acc) -> Acc;
walk(T, {node, A, _}, <<0:1, R/bits>>, Acc) -> walk(T, A, R, Acc);
walk(T, {node, _, B}, <<1:1, R/bits>>, Acc) -> walk(T, B, R, Acc).
