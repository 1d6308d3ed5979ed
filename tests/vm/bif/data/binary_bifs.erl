%% Writes binary_bifs.txt: calls and what OTP gives for them.
%%   erlc binary_bifs.erl && erl -noshell -s binary_bifs main -s init stop > binary_bifs.txt
%% Lines: Module Function Arguments Result, the last two as hex of term_to_binary. Result is {ok, Value} or
%% {Class, Reason, ErrorInfo}.
-module(binary_bifs).
-export([main/0]).

main() ->
    rand:seed(exsss, {4, 5, 6}),
    B = <<"abcabc">>,
    U = <<1, 2, 3:4>>,
    Big = 1 bsl 70,
    Unaligned = begin <<_:3, X/bits>> = <<0:3, "abcabcab">>, X end,
    Long = binary:copy(<<"0123456789">>, 110),
    [call(binary, F, A) || {F, A} <- [
        {at, [B, 0]}, {at, [B, 5]}, {at, [B, 6]}, {at, [B, -1]}, {at, [B, a]}, {at, [U, 0]}, {at, [a, 0]}, {at, [B, Big]},
        {at, [Unaligned, 2]}, {first, [B]}, {first, [<<>>]}, {first, [U]}, {last, [B]}, {last, [<<>>]}, {last, [Unaligned]},
        {copy, [B]}, {copy, [U]}, {copy, [a]}, {copy, [B, -1]}, {copy, [B, 0]}, {copy, [B, 1]}, {copy, [B, 7]}, {copy, [Long, 7]},
        {copy, [B, 1500]}, {copy, [Unaligned, 30]}, {copy, [B, Big]}, {copy, [<<>>, 1000]}, {copy, [<<>>, Big]}, {copy, [B, a]},
        {decode_unsigned, [<<>>]}, {decode_unsigned, [<<0, 0, 1>>]}, {decode_unsigned, [<<0, 0, 1>>, little]},
        {decode_unsigned, [<<1, 0>>, big]}, {decode_unsigned, [<<1>>, x]}, {decode_unsigned, [U]}, {decode_unsigned, [Long]},
        {decode_unsigned, [Long, little]}, {decode_unsigned, [Unaligned, little]},
        {encode_unsigned, [0]}, {encode_unsigned, [-1]}, {encode_unsigned, [255]}, {encode_unsigned, [256, little]},
        {encode_unsigned, [1 bsl 59]}, {encode_unsigned, [1 bsl 64]}, {encode_unsigned, [-Big]}, {encode_unsigned, [1 bsl 5000]},
        {encode_unsigned, [a]}, {encode_unsigned, [1, x]},
        {list_to_bin, [[1, 2 | <<3>>]]}, {list_to_bin, [<<1>>]}, {list_to_bin, [[256]]}, {list_to_bin, [[]]},
        {longest_common_prefix, [[B, <<"abd">>]]}, {longest_common_prefix, [[]]}, {longest_common_prefix, [[B]]},
        {longest_common_prefix, [[B | x]]}, {longest_common_prefix, [[B, x]]}, {longest_common_prefix, [x]},
        {longest_common_prefix, [[B, U]]}, {longest_common_prefix, [[Unaligned, <<"abcabcax">>]]}, {longest_common_prefix, [[B, <<>>]]},
        {longest_common_suffix, [[B, <<"xbc">>, <<"c">>]]}, {longest_common_suffix, [[Long, <<"x456789">>]]},
        {part, [B, {1, 2}]}, {part, [B, {6, -2}]}, {part, [B, {6, 0}]}, {part, [B, {6, 1}]}, {part, [B, {7, 0}]}, {part, [B, {1, -2}]},
        {part, [B, 1, 2]}, {part, [B, x]}, {part, [U, 0, 1]}, {part, [B, {1, Big}]}, {part, [B, {-1, 1}]}, {part, [B, {0, 1, 2}]},
        {part, [Unaligned, 1, 4]}, {part, [Long, 100, 900]},
        {referenced_byte_size, [B]}, {referenced_byte_size, [x]}, {referenced_byte_size, [U]},
        {match, [B, <<"c">>]}, {match, [B, <<"x">>]}, {match, [B, [<<"bc">>, <<"bca">>, <<"ab">>]]}, {match, [B, <<>>]}, {match, [B, []]},
        {match, [B, [<<>>]]}, {match, [B, <<"c">>, [{scope, {3, 3}}]]}, {match, [B, <<"c">>, [{scope, {3, 2}}]]},
        {match, [B, <<"c">>, [{scope, {6, -6}}]]}, {match, [B, <<"c">>, [{scope, {3, 4}}]]}, {match, [B, <<"c">>, [x]]},
        {match, [B, <<"c">>, x]}, {match, [U, <<"c">>]}, {match, [B, x]}, {match, [B, [x]]}, {match, [<<>>, <<"c">>]},
        {match, [B, <<"c">>, [{scope, {0, 0}}]]}, {match, [B, [<<"a">> | <<"b">>]]}, {match, [B, <<"c">>, [global]]},
        {match, [B, [<<"c">>, <<"ca">>], [{scope, {0, 3}}]]}, {match, [Unaligned, <<"ca">>]}, {match, [B, {bm, x}]}, {match, [B, {x, make_ref()}]},
        {match, [B, <<"c">>, [{scope, {Big, 1}}]]}, {match, [B, <<"c">>, [{scope, x}]]},
        {matches, [B, <<"c">>]}, {matches, [B, <<"x">>]}, {matches, [<<"aaaa">>, <<"aa">>]}, {matches, [<<"abcde">>, [<<"bcde">>, <<"cd">>]]},
        {matches, [<<"abcde">>, [<<"bcdx">>, <<"cd">>, <<"de">>]]}, {matches, [<<"abcde">>, [<<"abcd">>, <<"abcde">>, <<"a">>]]},
        {matches, [B, <<"c">>, [{scope, {0, 3}}]]}, {matches, [Long, <<"90">>]}, {matches, [Long, [<<"345">>, <<"4567">>, <<"89012">>]]},
        {split, [B, <<"b">>]}, {split, [B, <<"b">>, [global]]}, {split, [B, <<"x">>]}, {split, [B, <<"x">>, [global]]}, {split, [U, <<"b">>]},
        {split, [Unaligned, <<"c">>, [global]]}, {split, [B, <<"b">>, [{scope, {2, 4}}]]}, {split, [B, <<"b">>, [{scope, {2, 3}}, global]]},
        {split, [B, <<"b">>, [foo]]}, {split, [B, x]}, {split, [B, <<"b">>, [{scope, {2, 9}}]]}, {split, [Long, <<"1">>, [global]]},
        {split, [B, [<<"b">>, <<"bc">>], [global]]},
        {compile_pattern, [[]]}, {compile_pattern, [<<>>]}, {compile_pattern, [x]}, {compile_pattern, [[<<"a">>, x]]},
        {compile_pattern, [[<<"a">>, <<>>]]}, {compile_pattern, [U]}, {compile_pattern, [[<<"a">> | x]]}]],
    [call(binary, split, [S, <<"c">>, O])
     || S <- [<<>>, <<"c">>, <<"ac">>, <<"ca">>, <<"cc">>, <<"ccacc">>, <<"cacca">>, <<"a">>],
        O <- [[], [trim], [trim_all], [global], [global, trim], [global, trim_all], [trim, trim_all, global]]],
    [random_search() || _ <- lists:seq(1, 250)],
    [call(erlang, F, A) || {F, A} <- [
        {byte_size, [U]}, {byte_size, [B]}, {byte_size, [a]}, {bit_size, [U]}, {bit_size, [a]}, {binary_part, [B, 1, 2]},
        {binary_part, [B, {6, -6}]}, {binary_part, [B, {7, 0}]}, {binary_part, [B, a]}, {binary_part, [U, 0, 1]}, {binary_part, [a, 0, 1]},
        {binary_part, [B, 0, Big]}, {binary_part, [B, 2, -3]}, {binary_to_list, [B]}, {binary_to_list, [U]}, {binary_to_list, [a]},
        {binary_to_list, [Long]}, {binary_to_list, [Unaligned]}, {binary_to_list, [<<>>]}, {binary_to_list, [B, 2, 3]},
        {binary_to_list, [B, 0, 3]}, {binary_to_list, [B, 2, 1]}, {binary_to_list, [B, 2, 7]}, {binary_to_list, [B, 1, 1]},
        {binary_to_list, [U, 1, 1]}, {binary_to_list, [U, 1, 2]}, {binary_to_list, [<<>>, 1, 0]}, {binary_to_list, [Long, 77, 1040]},
        {binary_to_list, [B, 7, 7]}, {binary_to_list, [B, a, 1]},
        {list_to_binary, [[1, [2, <<3>>] | <<4>>]]}, {list_to_binary, [<<1>>]}, {list_to_binary, [[256]]}, {list_to_binary, [[U]]},
        {list_to_binary, [[1 | 2]]}, {list_to_binary, [a]}, {list_to_binary, [[]]}, {list_to_binary, [[a]]}, {list_to_binary, [[Unaligned, Long | Unaligned]]},
        {iolist_to_binary, [<<1>>]}, {iolist_to_binary, [U]}, {iolist_to_binary, [[U]]}, {iolist_to_binary, [[1 | 2]]}, {iolist_to_binary, [a]},
        {iolist_size, [[1, [2, <<3>>] | <<4>>]]}, {iolist_size, [U]}, {iolist_size, [[U]]}, {iolist_size, [a]}, {iolist_size, [<<1, 2>>]},
        {iolist_to_iovec, [[1, [2, <<3>>] | <<4>>]]}, {iolist_to_iovec, [<<>>]}, {iolist_to_iovec, [[]]}, {iolist_to_iovec, [<<1>>]},
        {iolist_to_iovec, [U]}, {iolist_to_iovec, [[a]]}, {iolist_to_iovec, [[1, binary:copy(<<1>>, 70), 2]]},
        {iolist_to_iovec, [[1, binary:copy(<<1>>, 700), 2, 3, [binary:copy(<<1>>, 600) | <<7>>]]]},
        {list_to_bitstring, [[1, U, 2 | U]]}, {list_to_bitstring, [U]}, {list_to_bitstring, [[]]}, {list_to_bitstring, [[a]]},
        {list_to_bitstring, [[[[U, Long], <<1:1>> | Unaligned], <<1:1>>]]}, {list_to_bitstring, [[256]]},
        {bitstring_to_list, [U]}, {bitstring_to_list, [B]}, {bitstring_to_list, [<<>>]}, {bitstring_to_list, [<<1:1>>]}, {bitstring_to_list, [a]},
        {bitstring_to_list, [<<Long/binary, 5:3>>]},
        {split_binary, [B, 2]}, {split_binary, [B, 0]}, {split_binary, [B, 6]}, {split_binary, [B, 7]}, {split_binary, [U, 2]},
        {split_binary, [U, 1]}, {split_binary, [U, 3]}, {split_binary, [B, -1]}, {split_binary, [B, Big]}, {split_binary, [a, 1]}, {split_binary, [Long, 100]},
        {term_to_binary, [Long]}, {term_to_binary, [{a, [1, 2], #{b => Long}}]}, {term_to_binary, [a, [foo]]}, {term_to_binary, [a, x]},
        {term_to_binary, [a, [compressed | x]]}, {term_to_binary, [a, [{minor_version, -1}]]}, {term_to_binary, [a, [{minor_version, 3}]]},
        {term_to_binary, [a, [{compressed, -1}]]}, {term_to_binary, [a, [{compressed, 10}]]}, {term_to_binary, [a, [local]]},
        {term_to_binary, ['å', [{minor_version, 2}]]}, {term_to_binary, [1.5, [{minor_version, 0}]]}, {term_to_binary, [[Long, Long], [compressed]]},
        {term_to_binary, [[Long, Long], [{compressed, 1}]]}, {term_to_binary, [[Long, Long], [{compressed, 9}]]}, {term_to_binary, [Long, [{compressed, 0}]]},
        {term_to_binary, [maps:from_list([{I, I} || I <- lists:seq(1, 100)]), [deterministic]]}, {term_to_binary, [lists:seq(1, 900)]},
        {term_to_iovec, [a]}, {term_to_iovec, [a, [{minor_version, 2}]]}, {term_to_iovec, [a, [x]]},
        {binary_to_term, [a]}, {binary_to_term, [<<131, 97, 1>>, [foo]]}, {binary_to_term, [<<131, 97, 1>>, x]}, {binary_to_term, [<<131, 97, 1>>, [used, safe]]},
        {binary_to_term, [<<131, 97, 1:7>>]}, {binary_to_term, [<<131, 97>>]}, {binary_to_term, [term_to_binary(lists:seq(1, 900))]},
        {binary_to_term, [term_to_binary([Long, Long, U], [compressed]), [used]]},
        {binary_to_term, [binary:part(term_to_binary(lists:seq(1, 900)), 0, 3000)]},
        {binary_to_term, [binary:part(term_to_binary(lists:seq(1, 900)), 0, 3000), [used]]},
        {external_size, [a, [foo]]}, {external_size, [a]}, {external_size, [a, x]}, {external_size, [{1.5, [Long]}, [{minor_version, 0}]]},
        {external_size, [a, [{minor_version, 2}]]}, {external_size, [lists:seq(1, 900)]}]],
    [begin
         L = iolist(4, Bad),
         [call(erlang, F, [L]) || F <- [list_to_binary, iolist_size, list_to_bitstring]]
     end || Bad <- lists:duplicate(60, 0) ++ lists:duplicate(30, 4)],
    [begin
         call(unicode, characters_to_binary, [D, E]),
         call(unicode, characters_to_list, [D, E])
     end || {D, E} <- fixed_chardata() ++ [{chardata(4), E} || _ <- lists:seq(1, 200), E <- [utf8, latin1]] ++
                [{byte_soup(), utf8} || _ <- lists:seq(1, 300)]],
    [call(unicode, bin_is_7bit, [D]) || D <- [<<"abc">>, <<128>>, <<>>, a, [], <<1:7>>, [1], Long, <<Long/binary, 200>>, Unaligned]].

call(M, F, A) ->
    R = try {ok, apply(M, F, A)}
        catch C:Reason:Trace -> {C, Reason, proplists:get_value(error_info, element(4, hd(Trace)))}
        end,
    io:format("~s ~s ~s ~s~n", [M, F, hex(term_to_binary(A)), hex(term_to_binary(R))]).

hex(B) -> [io_lib:format("~2.16.0b", [X]) || <<X>> <= B].

pick(L) -> lists:nth(rand:uniform(length(L)), L).

%% Few letters, so that there are many matches.
word(N) -> << <<(pick("ab"))>> || _ <- lists:seq(1, rand:uniform(N)) >>.

random_search() ->
    S = << <<(pick("aabc"))>> || _ <- lists:seq(1, rand:uniform(60) - 1) >>,
    P = case rand:uniform(4) of
            1 -> word(3);
            _ -> [word(6) || _ <- lists:seq(1, rand:uniform(6))]
        end,
    O = case rand:uniform(2) of
            1 -> [];
            2 -> [{scope, {rand:uniform(byte_size(S) + 1) - 1, rand:uniform(byte_size(S) + 1) - 1}}]
        end,
    call(binary, pick([match, matches, split]), [S, P, O]),
    call(binary, split, [S, P, pick([[], [trim], [trim_all]]) ++ [global | O]]).

iolist(Depth, Bad) ->
    Tail = pick([[], [], [], <<"t">>, binary:copy(<<"u">>, 100)]),
    lists:foldl(fun(_, L) -> [iolist_element(Depth, Bad) | L] end, Tail, lists:seq(1, rand:uniform(7) - 1)).

iolist_element(Depth, Bad) ->
    case rand:uniform(40) of
        N when N =< Bad -> pick([256, -1, a, 1.0, {}, <<1:3>>, 1 bsl 70, [1 | 2]]);
        N when N < 12, Depth > 0 -> iolist(Depth - 1, Bad);
        N when N < 25 -> list_to_binary(lists:duplicate(rand:uniform(90) - 1, $x));
        N when N < 27 -> begin <<_:5, X/bits>> = <<0:5, "unaligned">>, X end;
        _ -> rand:uniform(256) - 1
    end.

chardata(Depth) ->
    Tail = pick([[], [], [], <<"t">>, <<195>>, <<165, "x">>, <<226, 130>>]),
    lists:foldl(fun(_, L) -> [chardata_element(Depth) | L] end, Tail, lists:seq(1, rand:uniform(5) - 1)).

chardata_element(Depth) ->
    case rand:uniform(60) of
        1 -> pick([a, 1.0, {}, <<1:3>>, [1 | 2]]);
        2 -> pick([16#d800, 16#110000, -1, 1 bsl 70, 256]);
        N when N < 6 -> pick([<<195>>, <<226>>, <<226, 130>>, <<240>>, <<240, 159>>, <<240, 159, 152>>, <<192>>, <<245>>]);
        N when N < 10 -> pick([<<165>>, <<130>>, <<172>>, <<152, 128>>, <<159, 152, 128, "z">>]);
        N when N < 12 -> pick([<<"a", 255, "b">>, <<237, 160, 128>>, <<224, 128, 128>>, <<244, 144, 128, 128>>]);
        N when N < 30, Depth > 0 -> chardata(Depth - 1);
        N when N < 45 -> unicode:characters_to_binary(lists:duplicate(rand:uniform(9) - 1, pick([$a, 229, 955, 8364, 128512])));
        N when N < 47 -> begin <<_:5, X/bits>> = <<0:5, "unaligned", 195, 165>>, X end;
        N when N < 55 -> pick([$a, 127, 128, 229, 255]);
        _ -> pick([955, 8364, 128512, 16#10ffff, 16#ffff, $b])
    end.

byte_soup() ->
    Bytes = [$a, 128, 144, 159, 160, 191, 192, 193, 194, 223, 224, 225, 237, 239, 240, 241, 244, 245, 247, 248, 255],
    << <<(pick(Bytes))>> || _ <- lists:seq(1, rand:uniform(6)) >>.

fixed_chardata() ->
    X = <<"ab", 255, "c">>,
    I = <<"ab", 195>>,
    [{X, utf8}, {I, utf8}, {<<"ab", 226, 130>>, unicode}, {X, latin1}, {[], utf8}, {<<>>, utf8}, {"abc", utf8}, {[229, 955], utf8},
     {[229, 955], latin1}, {[256], latin1}, {[1114112], utf8}, {[55296], utf8}, {[-1], utf8}, {[a], utf8}, {a, utf8}, {[1 | a], utf8},
     {[1 | 2], utf8}, {[55296, a], utf8}, {[55296 | a], utf8}, {[X, a], utf8}, {[I, a], utf8}, {[[X], [<<1:1>>]], utf8}, {[I, 1, a], utf8},
     {[X, "d" | <<"e">>], utf8}, {["d", X | <<"e">>], utf8}, {["d", [[X], "q"] | <<"e">>], utf8}, {["d", [["z", X], "q"], "r" | <<"e">>], utf8},
     {["z" | X], utf8}, {["z", ["y" | X], "w"], utf8}, {[I], utf8}, {[I | <<"e">>], utf8}, {[I, "e"], utf8}, {[[I], <<165>>], utf8},
     {[<<195>>, <<165>>], utf8}, {[<<195>> | <<165>>], utf8}, {[<<195>>, 165], utf8}, {[<<226>>, <<130>>, <<172>>], utf8},
     {[<<226>>, [], [], <<130>>, <<>>, [<<172, $a>>], 1], utf8}, {[<<226>>, <<130>>], utf8}, {[<<226>>, <<130>>, <<65>>], utf8},
     {[["a", <<226>>], [<<130>>, <<65>>], "b"], utf8}, {["a", [55296, "b"], "c"], utf8}, {["a", ["x", 1114112 | <<"b">>], "c"], utf8},
     {["a", [[<<195>>]], [], "c"], utf8}, {["a", [[<<195>>]], []], utf8}, {[<<195>>, []], utf8}, {[[<<195>>], [[]]], utf8},
     {[[[[55296]]]], utf8}, {<<1:1>>, utf8}, {<<1:9>>, utf8}, {[<<"a">>, <<1:9>>], utf8}, {[<<"a">>, <<1:9>>], latin1},
     {[$a, <<1:9>> | <<"b">>], utf8}, {binary:copy(<<"abc", 195, 165>>, 300), utf8}, {binary:copy(<<"abc", 195, 165>>, 300), latin1},
     {lists:duplicate(300, 955), utf8}, {["ab", [256 | <<"q">>]], latin1}, {["ab", 1 bsl 70], latin1}].
