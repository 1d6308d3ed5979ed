%% term_to_binary: the exact bytes for terms of every kind, and options.
-module(etf_bytes).
-export([main/1]).

main(_) ->
    Terms = [0, 1, 255, 256, -1, 2147483647, 2147483648, -2147483648, -2147483649, (1 bsl 59),
             -(1 bsl 60), (1 bsl 63) - 1, 1 bsl 64, -(1 bsl 64), 1 bsl 2040, -(1 bsl 2050),
             0.0, 1.5, -1.0e300, 5.0e-324, a, '', 'hello world', 'é', '日本語', true,
             list_to_atom(lists:duplicate(255, $a)), list_to_atom(lists:duplicate(200, 8364)),
             [], [1], "abc", [256], [1, a], [a | b], [[]], lists:duplicate(10, 0), {}, {a},
             {1, {2, {3}}}, list_to_tuple(lists:seq(1, 256)),
             <<>>, <<"bin">>, <<1:1>>, <<255, 5:3>>, #{}, #{a => 1}, #{1 => a, 2 => b, x => #{}},
             fun lists:map/2, [1, 2, 300], "åäö", [$a | $b]],
    [io:format("~P ~s~n", [T, 8, hex(term_to_binary(T))]) || T <- Terms],
    [true = binary_to_term(term_to_binary(T)) =:= T || T <- Terms],
    [true = binary_to_term(term_to_binary(T, [compressed])) =:= T || T <- Terms],
    [true = binary_to_term(term_to_binary(T, [{minor_version, 1}])) =:= T || T <- Terms],
    [true = erlang:external_size(T) =:= byte_size(term_to_binary(T)) || T <- Terms],
    io:format("~p~n", [[hex(term_to_binary(T, [{minor_version, V}])) || T <- [1.5, a, 'é'],
                        V <- [0, 1, 2]]]),
    L = lists:seq(1, 65535) ++ lists:duplicate(70000, 7),
    io:format("~p ~p~n", [byte_size(term_to_binary(L)), erlang:phash2(term_to_binary(L))]),
    Str = lists:duplicate(65536, $x),
    io:format("~p ~p~n", [byte_size(term_to_binary(Str)), byte_size(term_to_binary(tl(Str)))]),
    Big = maps:from_list([{I, I} || I <- lists:seq(1, 100)]),
    true = binary_to_term(term_to_binary(Big)) =:= Big,
    io:format("~p~n", [byte_size(term_to_binary(Big))]),
    Deep = lists:foldl(fun(I, A) -> {I, A} end, [], lists:seq(1, 100000)),
    true = binary_to_term(term_to_binary(Deep)) =:= Deep,
    io:format("~p~n", [erlang:phash2(term_to_binary(Deep))]),
    Z = lists:duplicate(10000, <<"compress me">>),
    C = term_to_binary(Z, [compressed]),
    io:format("~p ~p~n", [byte_size(C) < 2000, binary:at(C, 1)]),
    io:format("~p~n", [[byte_size(term_to_binary(Z, [{compressed, N}])) < 130000
                        || N <- lists:seq(0, 9)]]),
    io:format("~p~n", [iolist_to_binary(erlang:term_to_iovec(Z)) =:= term_to_binary(Z)]),
    io:format("~p~n", [hex(term_to_binary(#{b => 1, a => 2, 1 => 3, "s" => 4}, [deterministic]))]),
    Pid = self(), Ref = make_ref(),
    io:format("~p ~p~n", [binary_to_term(term_to_binary(Pid)) =:= Pid,
                          binary_to_term(term_to_binary(Ref)) =:= Ref]),
    X = 5, F = fun(Y) -> X + Y end,
    io:format("~p~n", [(binary_to_term(term_to_binary(F)))(6)]).

hex(B) when byte_size(B) > 150 -> io_lib:format("~s..~p/~p",
                                                [binary:encode_hex(binary:part(B, 0, 60)),
                                                 byte_size(B), erlang:phash2(B)]);
hex(B) -> binary:encode_hex(B).
