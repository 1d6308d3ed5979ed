%% Writes external_terms.txt: what OTP makes of terms and of odd or malformed bytes.
%%   erlc external_terms.erl && erl -noshell -s external_terms main -s init stop > external_terms.txt
%% Lines:
%%   T Minor1 Minor0 Minor2 Compressed Size1 Size0   a term: its bytes and its external sizes
%%   D Minor1                                        a large map, deterministic
%%   A Bytes Again Used                              accepted; encoded again; bytes used
%%   B Bytes                                         refused
%%   S Bytes                                         refused with [safe], accepted without
-module(external_terms).
-export([main/0]).

main() ->
    [term(T) || T <- terms()],
    [io:format("D ~s~n", [hex(term_to_binary(M, [deterministic]))]) || M <- large_maps()],
    [odd(B) || B <- odd()],
    [safe(B) || B <- unknown()].

hex(B) -> [io_lib:format("~2.16.0b", [X]) || <<X>> <= B].

term(T) ->
    io:format("T ~s ~s ~s ~s ~w ~w~n",
              [hex(term_to_binary(T)), hex(term_to_binary(T, [{minor_version, 0}])),
               hex(term_to_binary(T, [{minor_version, 2}])), hex(term_to_binary(T, [compressed])),
               erlang:external_size(T), erlang:external_size(T, [{minor_version, 0}])]).

odd(B) ->
    try binary_to_term(B, [used]) of
        {T, Used} -> io:format("A ~s ~s ~w~n", [hex(B), hex(term_to_binary(T)), Used])
    catch
        error:badarg -> io:format("B ~s~n", [hex(B)])
    end.

safe(B) ->
    {'EXIT', {badarg, _}} = (catch binary_to_term(B, [safe])),
    io:format("S ~s~n", [hex(B)]).

terms() ->
    Bits = [1, 7, 8, 9, 15, 16, 26, 27, 28, 31, 32, 39, 40, 58, 59, 60, 61, 62, 63, 64, 65, 71, 72,
            127, 128, 1000, 2031, 2039, 2040, 2041, 5000],
    Ints = lists:usort([S * ((1 bsl B) + D) || B <- Bits, S <- [1, -1], D <- [-1, 0, 1]]),
    Ext = [<<131, 88, 100, 0, 3, "a@b", 16#ffffffff:32, 16#fffffffe:32, 16#fffffffd:32>>,
           <<131, 88, 119, 3, "a@b", 1:32, 2:32, 0:32>>,
           <<131, 88, 100, 0, 13, "nonode@nohost", 5:32, 6:32, 7:32>>,
           <<131, 88, 100, 0, 13, "nonode@nohost", 16#7fff:32, 16#1fff:32, 0:32>>,
           <<131, 120, 100, 0, 3, "a@b", 16#1fffffff:32, 16#1fff:32, 5:32>>,
           <<131, 89, 100, 0, 3, "a@b", 16#fffffff:32, 5:32>>,
           <<131, 89, 100, 0, 13, "nonode@nohost", 16#fffffff:32, 0:32>>,
           <<131, 90, 0, 0, 100, 0, 3, "a@b", 9:32>>,
           <<131, 90, 0, 1, 100, 0, 3, "a@b", 9:32, 1:32>>,
           <<131, 90, 0, 2, 100, 0, 3, "a@b", 9:32, 1:32, 16#ffffffff:32>>,
           <<131, 90, 0, 3, 100, 0, 3, "a@b", 9:32, 1:32, 2:32, 16#fffffff3:32>>,
           <<131, 90, 0, 4, 100, 0, 3, "a@b", 9:32, 1:32, 2:32, 3:32, 4:32>>,
           <<131, 90, 0, 5, 100, 0, 3, "a@b", 9:32, 1:32, 2:32, 3:32, 4:32, 5:32>>,
           <<131, 90, 0, 3, 100, 0, 13, "nonode@nohost", 0:32, 262143:32, 16#ffffffff:32, 3:32>>],
    F1 = fun(X) -> X + 1 end,
    F2 = fun(X, Y) -> {F1, X, Y, Bits} end,
    Ints ++ [binary_to_term(E) || E <- Ext] ++
    [a, '', 'å', 'λ', list_to_atom(lists:duplicate(255, 229)), list_to_atom(lists:duplicate(127, 955)),
     list_to_atom(lists:duplicate(128, 955)), list_to_atom(lists:duplicate(255, 16#10ffff)),
     list_to_atom(lists:duplicate(255, $a)),
     0.0, -0.0, 1.5, -1.0e-300, 1.7976931348623157e308, 5.0e-324, 3.141592653589793, 1.0e22, 123456789.0e-15,
     [], "a", "abc", lists:seq(0, 255), [256], [1, 2, 300], [1 | 2], [a | b], [[[[]]]], [1, [2, [3 | 4]]], [-1],
     lists:duplicate(300, 255), lists:duplicate(300, 256), [$a, $b | c],
     {}, {a}, {{}, {{}}}, list_to_tuple(lists:duplicate(255, 1)), list_to_tuple(lists:duplicate(256, b)),
     <<>>, <<0>>, <<1, 2, 3>>, list_to_binary(lists:seq(0, 255)), <<1:1>>, <<5:3>>, <<1, 2, 3:7>>,
     <<(binary:copy(<<7>>, 100))/binary, 1:1>>,
     #{}, #{a => 1}, #{1 => a, a => 2, 1.0 => x, "s" => y, <<>> => z, {} => t, [] => n, #{} => m, self() => p},
     maps:from_list([{{k, I}, [I]} || I <- lists:seq(1, 32)]),
     self(), hd(erlang:ports()), make_ref(), fun lists:map/2, fun erlang:'+'/2, fun x:y/255, F1, F2, [F1, F2 | F2],
     binary:copy(<<"abcdefgh">>, 1000), lists:duplicate(500, {ok, "text", 12345678, 1.0}),
     lists:foldl(fun(I, A) -> [A, I] end, [], lists:seq(1, 200)),
     lists:foldl(fun(I, A) -> {A, #{I => A}} end, x, lists:seq(1, 8))] ++
    %% around the size where compression begins to pay
    [binary:copy(<<"a">>, N) || N <- lists:seq(10, 20)] ++ [lists:duplicate(N, 1) || N <- lists:seq(10, 20)].

large_maps() ->
    [maps:from_list([{I, I * I} || I <- lists:seq(1, 33)]),
     maps:from_list([{I, x} || I <- lists:seq(-50, 50)] ++ [{I * 1.0, y} || I <- lists:seq(-50, 50)] ++
                    [{{I, J}, z} || I <- [1, 2.0, a], J <- [b, 1, []]] ++ [{[I], I} || I <- lists:seq(1, 20)]),
     #{big => maps:from_list([{integer_to_binary(I), #{I => maps:from_list([{J, I} || J <- lists:seq(1, 40)])}}
                              || I <- lists:seq(1, 40)])}].

odd() ->
    N = <<100, 0, 13, "nonode@nohost">>,
    A = <<100, 0, 3, "a@b">>,
    Z = fun(B, Size) -> <<131, 80, Size:32, (zlib:compress(B))/binary>> end,
    [<<>>, <<131>>, <<130, 97, 1>>, <<131, 97, 1, 2, 3>>, <<131, 97>>, <<131, 98, 255, 255, 255, 255>>,
     <<131, 98, 1, 2, 3>>, <<131, 110, 0, 0>>, <<131, 110, 0, 1>>, <<131, 110, 1, 7, 3>>, <<131, 110, 3, 1, 5, 0, 0>>,
     <<131, 110, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0>>, <<131, 110, 2, 0, 1>>, <<131, 111, 0, 0, 0, 1, 1, 255>>,
     <<131, 111, 255, 255, 255, 255, 0, 1>>, <<131, 110, 8, 1, 0, 0, 0, 0, 0, 0, 0, 128>>,
     <<131, 110, 8, 1, 1, 0, 0, 0, 0, 0, 0, 128>>, <<131, 110, 8, 0, 0, 0, 0, 0, 0, 0, 0, 16>>,
     <<131, 110, 8, 1, 0, 0, 0, 0, 0, 0, 0, 16>>, <<131, 110, 8, 1, 1, 0, 0, 0, 0, 0, 0, 16>>,
     <<131, 70, 127, 240, 0, 0, 0, 0, 0, 0>>, <<131, 70, 255, 248, 0, 0, 0, 0, 0, 1>>, <<131, 70, 1, 2, 3>>,
     <<131, 77, 0:32, 0>>, <<131, 77, 1:32, 0, 1>>, <<131, 77, 1:32, 8, 1>>, <<131, 77, 1:32, 9, 1>>,
     <<131, 77, 1:32, 3, 255>>, <<131, 77, 0:32, 1>>, <<131, 77, 2:32, 3, 255>>, <<131, 109, 0, 0, 0, 2, 1>>,
     <<131, 116, 2:32, 97, 1, 97, 2, 97, 1, 97, 3>>, <<131, 116, 2:32, 97, 2, 97, 3, 97, 1, 97, 4>>,
     <<131, 116, 2:32, 97, 1, 97, 2, 98, 1:32, 97, 3>>, <<131, 116, 255:32, 97, 1>>, <<131, 116, 1:32, 97, 1>>,
     <<131, 116, 33:32, (<< <<97, I, 97, I>> || I <- lists:seq(1, 32) >>)/binary, 97, 1, 97, 1>>,
     <<131, 107, 0, 0>>, <<131, 107, 0, 3, 1, 2>>, <<131, 108, 0:32, 97, 5>>, <<131, 108, 0:32, 106>>,
     <<131, 108, 1:32, 97, 5>>, <<131, 108, 255:32, 97, 5>>, <<131, 108, 2:32, 97, 1, 97, 2, 97, 3>>,
     <<131, 108, 1:32, 97, 1, 108, 1:32, 97, 2, 106>>, <<131, 108, 1:32, 97, 1, 107, 0, 1, 3>>,
     <<131, 105, 255:32>>, <<131, 105, 0:32>>, <<131, 105, 1:32, 106>>, <<131, 104, 2, 106>>,
     <<131, 82, 0>>, <<131, 121, 0:64, 97, 1>>, <<131, 68, 0>>, <<131, 117>>, <<131, 0>>,
     <<131, 100, 0, 1, 229>>, <<131, 115, 1, 229>>, <<131, 118, 0, 2, 195, 165>>, <<131, 119, 2, 195, 165>>,
     <<131, 119, 0>>, <<131, 100, 0, 0>>, <<131, 115, 3, 1, 2>>, <<131, 119, 2, 255, 255>>, <<131, 119, 3, 237, 160, 128>>,
     <<131, 119, 2, 192, 128>>, <<131, 119, 1, 195>>, <<131, 100, 1, 0, 0:2048>>, <<131, 118, 2, 0, (binary:copy(<<206, 187>>, 256))/binary>>,
     <<131, 113, A/binary, 100, 0, 1, $b, 98, 0, 0, 1, 255>>, <<131, 113, A/binary, 100, 0, 1, $b, 98, 255, 0, 1, 255>>,
     <<131, 113, A/binary, 100, 0, 1, $b, 110, 1, 0, 7>>, <<131, 113, A/binary, 97, 1, 97, 2>>, <<131, 113, A/binary, A/binary>>,
     <<131, 113, A/binary, A/binary, 70, 0:64>>,
     <<131, 99, "1.50000000000000000000e+00", 0, 0, 0, 0, 0>>, <<131, 99, "-1.5", 0:216>>, <<131, 99, "+2.5e-3", 0:192>>,
     <<131, 99, "  1.5", 0:208>>, <<131, 99, "1.5xx", 0:208>>, <<131, 99, "inf", 0:224>>, <<131, 99, "15", 0:232>>,
     <<131, 99, "1.5e400", 0:192>>, <<131, 99, "1.5e-400", 0:184>>, <<131, 99, "1.", 0:232>>, <<131, 99, ".5", 0:232>>,
     <<131, 99, "1.5e", 0:216>>, <<131, 99, 0:248>>, <<131, 99, "1.5">>] ++
    [<<131, 88, Node/binary, I:32, S:32, C:32>> || Node <- [N, A], I <- [5, 16#7fff, 16#10000000],
                                                  S <- [0, 8191, 16#ffffffff], C <- [0, 1, 16#ffffffff]] ++
    [<<131, 103, Node/binary, I:32, S:32, C>> || Node <- [N, A], I <- [5, 16#7fff, 16#10000000], S <- [0, 8191],
                                                 C <- [0, 3, 4]] ++
    [<<131, 102, Node/binary, I:32, C>> || Node <- [N, A], I <- [5, 16#fffffff, 16#10000000], C <- [0, 3, 4]] ++
    [<<131, 89, Node/binary, I:32, C:32>> || Node <- [N, A], I <- [5, 16#fffffff, 16#10000000], C <- [0, 3, 4]] ++
    [<<131, 120, Node/binary, I:64, C:32>> || Node <- [N, A], I <- [5, 16#fffffff, 16#10000000, 1 bsl 63], C <- [0, 4]] ++
    [<<131, 101, Node/binary, I:32, C>> || Node <- [N, A], I <- [5, 262143, 262144], C <- [0, 3, 4]] ++
    [<<131, 114, L:16, Node/binary, C, (binary:copy(<<0, 3, 255, 255>>, L))/binary>>
     || L <- lists:seq(1, 6), Node <- [N, A], C <- [0, 1, 4]] ++
    %% (not of no words: OTP reads on behind them)
    [<<131, 90, L:16, Node/binary, C:32, (binary:copy(<<0, 3, 255, 255>>, L))/binary>>
     || L <- lists:seq(1, 6), Node <- [N, A], C <- [0, 1, 4]] ++
    [<<131, 90, 3:16, A/binary, 1:32, 262144:32, 0:32, 0:32>>, <<131, 90, 3:16, N/binary, 0:32, 262144:32, 0:32, 0:32>>,
     <<131, 90, 3:16, N/binary, 1:32, 262144:32, 0:32, 0:32>>,
     Z(<<97, 5>>, 2), Z(<<97, 5>>, 3), Z(<<97, 5>>, 1), Z(<<97, 5, 6>>, 3), Z(<<97, 5, 6>>, 2), Z(<<97>>, 1),
     Z(<<80, 0, 0, 0, 2, 97, 5>>, 7), Z(<<131, 97, 5>>, 3), <<(Z(<<97, 5>>, 2))/binary, 1, 2, 3>>,
     binary:part(Z(<<97, 5>>, 2), 0, 15), Z(<<97, 5>>, 16#ffffffff), <<131, 80, 0, 0>>, <<131, 80, 2:32>>,
     <<131, 80, 2:32, 1, 2, 3, 4>>, Z(<<>>, 0)].

unknown() ->
    [<<131, 100, 0, 8, "no atom1">>, <<131, 115, 8, "no atom2">>, <<131, 118, 0, 8, "no atom3">>, <<131, 119, 8, "no atom4">>,
     <<131, 115, 8, "no atom", 229>>, <<131, 104, 2, 100, 0, 1, $a, 100, 0, 8, "no atom5">>,
     <<131, 113, 100, 0, 5, "lists", 100, 0, 5, "lists", 97, 3>>,
     <<131, 88, 100, 0, 4, "q@zz", 1:32, 2:32, 3:32>>].
