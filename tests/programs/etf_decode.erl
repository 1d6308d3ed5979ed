%% binary_to_term on bytes written by hand: old tags, unusual forms, broken input, safe, used.
-module(etf_decode).
-export([main/1]).

main(_) ->
    Good = [{small_int, <<131, 97, 5>>}, {int, <<131, 98, 255, 255, 255, 254>>},
            {float_old, <<131, 99, "1.50000000000000000000e+00", 0, 0, 0, 0, 0>>},
            {atom_old, <<131, 100, 0, 3, "abc">>}, {atom_latin1, <<131, 100, 0, 1, 229>>},
            {small_atom, <<131, 115, 2, "ok">>}, {atom_utf8, <<131, 118, 0, 2, 195, 165>>},
            {small_atom_utf8, <<131, 119, 1, "z">>}, {string, <<131, 107, 0, 2, 1, 2>>},
            {empty_string, <<131, 107, 0, 0>>}, {list, <<131, 108, 0, 0, 0, 1, 97, 1, 106>>},
            {list_zero, <<131, 108, 0, 0, 0, 0, 106>>},
            {improper, <<131, 108, 0, 0, 0, 1, 97, 1, 97, 2>>}, {small_big, <<131, 110, 1, 0, 7>>},
                {small_big_neg, <<131, 110, 2, 1, 0, 1>>},
            {big_zero, <<131, 110, 0, 0>>}, {big_padded, <<131, 110, 9, 0, 1, 0, 0, 0, 0, 0, 0, 0,
                                                           0>>}, {large_big, <<131, 111, 0, 0, 0, 1,
                                                                   0, 9>>}, {small_tuple,
                                                                           <<131, 104, 2, 97, 1,
                                                                                   106>>},
            {large_tuple, <<131, 105, 0, 0, 0, 1, 97, 1>>},
            {binary, <<131, 109, 0, 0, 0, 2, "hi">>},
                {bits, <<131, 77, 0, 0, 0, 2, 3, 255, 16#A0>>},
                {map, <<131, 116, 0, 0, 0, 2, 97, 2, 97, 3, 97, 1, 97, 4>>},
            {export, <<131, 113, 119, 5, "lists", 119, 3, "map", 97, 2>>},
            {new_float, <<131, 70, 63, 248, 0, 0, 0, 0, 0, 0>>},
                {trailing, <<131, 97, 5, 1, 2, 3>>}],
    [io:format("~p: ~p~n", [N, decode(B)]) || {N, B} <- Good],
    Bad = [<<>>, <<131>>, <<130, 97, 1>>, <<131, 97>>, <<131, 98, 1, 2, 3>>,
           <<131, 100, 0, 5, "abc">>, <<131, 108, 255, 255, 255, 255, 97>>, <<131, 104, 2, 97, 1>>,
           <<131, 109, 255, 255, 255, 255, 1>>, <<131, 116, 0, 0, 0, 1, 97, 1>>,
           <<131, 116, 0, 0, 0, 2, 97, 1, 97, 1, 97, 1, 97, 2>>,
               <<131, 70, 127, 240, 0, 0, 0, 0, 0, 0>>, <<131, 77, 0, 0, 0, 1, 9, 1>>,
           <<131, 255>>, <<131, 80, 0, 0, 0, 5, 1, 2, 3>>, <<131, 119, 2, 255, 255>>,
           <<131, 110, 5, 0, 1>>, <<131, 111, 255, 255, 255, 255, 0, 1>>, <<131, 107, 0, 5, 1>>,
               <<131, 99, "junk">>],
    [io:format("~w: ~p~n", [B, decode(B)]) || B <- Bad],
    io:format("~p~n",
              [try binary_to_term(<<131, 119, 19, "never_existed_atom1">>, [safe]) catch C:R ->
                   {C, R} end]),
    io:format("~p~n", [binary_to_term(<<131, 119, 5, "lists">>, [safe])]),
    io:format("~p~n", [binary_to_term(<<131, 97, 5, 9, 9>>, [used])]),
    io:format("~p~n", [try binary_to_term(abc) catch C2:R2 -> {C2, R2} end]),
    io:format("~p~n", [try binary_to_term(<<131, 97, 1>>, [foo]) catch C3:R3 -> {C3, R3} end]),
    Zipped = term_to_binary(lists:duplicate(100, hello), [compressed]),
    io:format("~p~n", [binary_to_term(Zipped) =:= lists:duplicate(100, hello)]),
    %% every prefix of a good encoding is refused
    Full = term_to_binary({a, [1, 2.5, <<"x">>], #{k => 1 bsl 70}, "str"}),
    io:format("~p~n",
              [lists:usort([decode(binary:part(Full, 0, N))
                            || N <- lists:seq(0, byte_size(Full) - 1)])]),
    %% one byte changed: an answer or badarg, never anything else
    io:format("~p~n",
              [length([ok || I <- lists:seq(1, byte_size(Full) - 1),
                       V <- [0, 97, 104, 108, 116, 255],
                                     case catch decode(<<(binary:part(Full, 0, I))/binary, V,
                                                         (binary:part(Full, I + 1,
                                                                 byte_size(Full) - I - 1))/binary>>) of
                                         {'EXIT', _} -> false; _ -> true end])]).

decode(B) -> try binary_to_term(B) catch C:R -> {C, R} end.
