%% Module binary: match, matches, split, replace, parts, copies, encodings and their errors.
-module(bin_module).
-export([main/1, id/1]).

main(_) ->
    B = <<"abracadabra">>,
    io:format("~p~n", [[binary:match(B, P) || P <- [<<"a">>, <<"cad">>, <<"xyz">>, [<<"bra">>, <<"ab">>], [<<"abra">>, <<"ab">>], <<"abracadabra">>]]]),
    io:format("~p~n", [[binary:match(B, <<"a">>, [{scope, S}]) || S <- [{1, 5}, {0, 0}, {11, -4}, {4, 1}]]]),
    io:format("~p~n", [[binary:matches(B, P) || P <- [<<"a">>, <<"abra">>, <<"zz">>, [<<"a">>, <<"ab">>, <<"bra">>]]]]),
    io:format("~p~n", [binary:matches(<<"aaaaa">>, <<"aa">>)]),
    CP = binary:compile_pattern([<<"ra">>, <<"da">>]),
    io:format("~p~n", [binary:matches(B, CP)]),
    io:format("~p~n", [[binary:split(<<"a,b,,c,">>, <<",">>, O) || O <- [[], [global], [global, trim], [global, trim_all], [trim], [{scope, {2, 4}}]]]]),
    io:format("~p~n", [binary:split(<<"a-b_c">>, [<<"-">>, <<"_">>], [global])]),
    io:format("~p~n", [[binary:replace(B, <<"a">>, R, O) || {R, O} <- [{<<"X">>, []}, {<<"X">>, [global]}, {<<>>, [global]}, {<<"[]">>, [global, {insert_replaced, 1}]}, {<<"<>">>, [global, {insert_replaced, [1, 1]}]}]]]),
    io:format("~p~n", [[binary:at(B, I) || I <- [0, 5, 10]]]),
    io:format("~p ~p~n", [binary:first(B), binary:last(B)]),
    io:format("~p~n", [[binary:part(B, P) || P <- [{0, 4}, {11, -4}, {3, 0}]]]),
    io:format("~p~n", [binary:bin_to_list(B, {3, 3})]),
    io:format("~p~n", [binary:list_to_bin([1, [2], <<3>>])]),
    io:format("~p ~p~n", [binary:copy(<<"ab">>, 3), binary:copy(<<"ab">>, 0)]),
    io:format("~p~n", [[binary:encode_unsigned(N) || N <- [0, 1, 255, 256, 16#123456789ABCDEF, 1 bsl 80]]]),
    io:format("~p~n", [[binary:encode_unsigned(N, little) || N <- [0, 258, 1 bsl 65]]]),
    io:format("~p~n", [[binary:decode_unsigned(X) || X <- [<<>>, <<0>>, <<1, 0>>, <<255, 255, 255, 255, 255, 255, 255, 255, 255>>]]]),
    io:format("~p~n", [binary:decode_unsigned(<<1, 2, 3>>, little)]),
    io:format("~p~n", [[binary:longest_common_prefix(L) || L <- [[<<"abcd">>, <<"abef">>], [<<"a">>, <<"b">>], [<<"same">>, <<"same">>], [<<>>, <<"x">>], [<<"one">>]]]]),
    io:format("~p~n", [binary:longest_common_suffix([<<"walking">>, <<"talking">>, <<"king">>])]),
    io:format("~p ~p~n", [binary:encode_hex(<<"Hello">>), binary:decode_hex(<<"48656C6c6F">>)]),
    Fs = [fun() -> binary:at(B, 11) end, fun() -> binary:at(B, -1) end, fun() -> binary:first(<<>>) end, fun() -> binary:match(id(a), <<"a">>) end,
          fun() -> binary:match(B, <<>>) end, fun() -> binary:match(B, []) end, fun() -> binary:part(B, {5, 100}) end, fun() -> binary:copy(B, -1) end,
          fun() -> binary:encode_unsigned(-1) end, fun() -> binary:decode_hex(<<"abc">>) end, fun() -> binary:decode_hex(<<"zz">>) end,
          fun() -> binary:longest_common_prefix([]) end, fun() -> binary:split(B, <<>>) end, fun() -> binary:replace(B, <<"a">>, x, []) end,
          fun() -> binary:match(B, <<"a">>, [{scope, {0, 100}}]) end, fun() -> binary:bin_to_list(id(<<1:1>>)) end],
    io:format("~p~n", [[try F() catch C:R -> {C, R} end || F <- Fs]]),
    Long = binary:copy(<<"abcdefghij">>, 10000),
    io:format("~p~n", [length(binary:matches(Long, <<"jab">>))]),
    io:format("~p~n", [length(binary:split(Long, [<<"e">>, <<"ja">>], [global]))]),
    io:format("~p~n", [byte_size(binary:replace(Long, <<"cde">>, <<"XYZ!">>, [global]))]),
    io:format("~p~n", [binary:match(<<Long/binary, "needle">>, <<"needle">>)]),
    <<_:3, Shift:88/bits, _:5>> = <<1:3, B/binary, 2:5>>,
    io:format("~p ~p~n", [binary:match(Shift, <<"cad">>), binary:split(Shift, <<"c">>)]),
    io:format("~p~n", [binary:referenced_byte_size(binary:copy(binary:part(Long, 5, 100)))]).

id(X) -> X.
