%% BIFs on binaries and iolists: conversions, parts, splits, sizes and their errors.
-module(bin_bifs).
-export([main/1, id/1]).

main(_) ->
    B = <<"Hello, World">>,
    io:format("~p~n", [[binary_part(B, 0, 5), binary_part(B, {7, 5}), binary_part(B, 12, -5),
                        binary_part(B, 3, 0)]]),
    io:format("~p ~p ~p~n", [split_binary(B, 5), split_binary(B, 0), split_binary(B, 12)]),
    io:format("~p~n", [binary_to_list(B, 2, 4)]),
    io:format("~p~n", [list_to_binary([1, "two", <<"three">>, [[], [4 | <<"five">>]]])]),
    io:format("~p ~p~n", [iolist_to_binary([$a, ["b" | <<"c">>]]), iolist_to_binary(<<"x">>)]),
    io:format("~p~n", [iolist_size([1, [2, <<3, 4>>], [], <<>> | <<5>>])]),
    io:format("~p~n", [erlang:iolist_to_iovec([<<"a">>, "b", <<"c">>])]),
    io:format("~p~n", [[atom_to_binary(A) || A <- [a, 'hello world', 'ÅÄÖ', '', '日本']]]),
    io:format("~p~n", [[binary_to_atom(X, utf8) || X <- [<<"a">>, <<"b c">>, <<>>, <<"é"/utf8>>]]]),
    io:format("~p~n", [binary_to_existing_atom(<<"lists">>, latin1)]),
    io:format("~p~n", [[atom_to_list(A) || A <- [abc, 'é', '€']]]),
    io:format("~p~n", [[list_to_atom(L) || L <- ["abc", "A b", [8364], ""]]]),
    io:format("~p~n",
              [try_(fun() -> binary_to_existing_atom(<<"never seen before xyzzy">>, utf8) end)]),
    io:format("~p~n", [try_(fun() -> list_to_existing_atom("never seen before plugh") end)]),
    Fs = [fun() -> binary_part(B, 5, 100) end, fun() -> binary_part(B, -1, 2) end,
          fun() -> binary_part(B, 2, -3) end,
          fun() -> split_binary(B, 13) end, fun() -> list_to_binary(id([1, 256])) end,
          fun() -> list_to_binary(id([-1])) end,
          fun() -> list_to_binary(id(<<"a">>)) end, fun() -> iolist_to_binary(id([a])) end,
          fun() -> iolist_size(id([1 | 2])) end,
          fun() -> binary_to_list(B, 0, 3) end, fun() -> binary_to_list(B, 5, 3) end,
          fun() -> atom_to_binary(id("a")) end,
          fun() -> binary_to_atom(id(<<255>>), utf8) end,
          fun() -> binary_to_integer(id(<<"">>)) end,
          fun() -> list_to_atom(id([16#D800])) end, fun() -> byte_size(id("abc")) end],
    [io:format("~p~n", [try_(F)]) || F <- Fs],
    Deep = lists:foldl(fun(I, A) -> [A, I rem 256 | <<I:16>>] end, [], lists:seq(1, 20000)),
    io:format("~p ~p~n", [iolist_size(Deep), erlang:phash2(iolist_to_binary(Deep))]),
    Left = lists:foldl(fun(I, A) -> [A | [I rem 256]] end, [], lists:seq(1, 50000)),
    io:format("~p~n", [erlang:crc32(Left)]),
    io:format("~p ~p~n", [erlang:crc32("abc"), erlang:adler32([<<"ab">>, $c])]),
    io:format("~p ~p~n", [erlang:crc32(erlang:crc32("ab"), "c"),
                          erlang:adler32_combine(erlang:adler32("a"), erlang:adler32("bc"), 2)]),
    io:format("~p~n",
              [binary:encode_hex(erlang:md5("The quick brown fox jumps over the lazy dog"))]),
    C0 = erlang:md5_init(), C1 = erlang:md5_update(C0, "The quick brown fox "),
    C2 = erlang:md5_update(C1, <<"jumps over the lazy dog">>),
    io:format("~p~n", [binary:encode_hex(erlang:md5_final(C2))]),
    checksums_of_long_lists(lists:duplicate(600000, [])).

%% A long list may hold no bytes, and its end may be no iodata.
checksums_of_long_lists(Nothing) ->
    Bad = Nothing ++ [x],
    io:format("~p~n", [{erlang:crc32(Nothing), erlang:adler32(Nothing), erlang:md5(Nothing) =:= erlang:md5("")}]),
    io:format("~p~n", [erlang:crc32([Nothing, "a", Nothing | <<"b">>]) =:= erlang:crc32("ab")]),
    Failed = fun(Why, [{M, F, Args, _} | _]) -> {Why, M, F, length(Args)} end,
    [io:format("~p~n", [try F() catch error:Why:Stack -> Failed(Why, Stack) end]) ||
        F <- [fun() -> erlang:md5(Bad) end, fun() -> erlang:crc32(3, Bad) end, fun() -> erlang:adler32(3, Bad) end,
              fun() -> erlang:md5_update(erlang:md5_init(), Bad) end]].

try_(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
