%% Module unicode: conversions between encodings, incomplete and bad input, normal forms, BOMs.
-module(unicode_module).
-export([main/1]).

main(_) ->
    Data = [<<"åäö"/utf8>>, "åäö", [229, <<"x">>, [8364]], <<229, 228>>, <<195>>, <<"a", 195>>,
            [16#D800], [16#110000], [-1], "plain", <<>>, [], [<<240, 159, 152>>, <<128>>],
            [<<195>>, <<165>>], a, [a], <<1:1>>],
    [io:format("~w: ~w~n    ~w~n    ~w~n",
               [D | [try F(D) catch C:R -> {C, R} end || F <- [fun unicode:characters_to_list/1,
                                                               fun unicode:characters_to_binary/1,
                                                               fun(X) ->
                                                                       unicode:characters_to_list(X,
                                                                               latin1) end]]])
     || D <- Data],
    Encs = [latin1, utf8, utf16, {utf16, little}, utf32, {utf32, little}, {utf16, big}],
    [io:format("~p ~w ~w~n", [E, unicode:characters_to_binary("aå€😀", unicode, E),
                              unicode:characters_to_list(unicode:characters_to_binary("aå", unicode,
                                      E), E)]) || E <- Encs],
    io:format("~w~n", [[unicode:bom_to_encoding(B) || B <- [<<16#EF, 16#BB, 16#BF, "a">>,
                                                            <<16#FE, 16#FF>>, <<16#FF, 16#FE>>,
                                                            <<0, 0, 16#FE, 16#FF>>,
                                                            <<16#FF, 16#FE, 0, 0>>, <<"abc">>]]]),
    io:format("~w~n", [[unicode:encoding_to_bom(E) || E <- [utf8, latin1, utf16, {utf16, little},
                                                            {utf32, big}]]]),
    S = [16#E9, 16#FB01, 16#212B, $a, 16#302, 16#323, 16#AC00],
    io:format("~w~n~w~n~w~n~w~n", [unicode:characters_to_nfc_list(S),
                                   unicode:characters_to_nfd_list(S),
                                   unicode:characters_to_nfkc_list(S),
                                   unicode:characters_to_nfkd_list(S)]),
    io:format("~w~n", [unicode:characters_to_nfc_binary(<<"e", 16#301/utf8>>)]),
    Long = lists:duplicate(50000, 8364),
    B = unicode:characters_to_binary(Long),
    io:format("~p ~p~n", [byte_size(B), unicode:characters_to_list(B) =:= Long]),
    io:format("~p~n", [unicode:characters_to_binary([B, 255, <<255>>]) =:= x]),
    {error, Good, Rest} = unicode:characters_to_binary([B, <<255>>, "tail"]),
    io:format("~p ~w~n", [byte_size(Good), Rest]),
    {incomplete, G2, R2} = unicode:characters_to_list(<<B/binary, 226, 130>>),
    io:format("~p ~w~n", [length(G2), R2]).
