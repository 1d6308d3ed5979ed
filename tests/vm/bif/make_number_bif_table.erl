#!/usr/bin/env escript
%% Writes what Erlang/OTP returns from the built-in functions of vm/bif/numbers:
%%   escript make_number_bif_table.erl > number_bif_table.txt
%%
%% Lines of the table: MODULE FUNCTION ARGUMENTS value RESULT, or MODULE FUNCTION ARGUMENTS error REASON.
%% Arguments (a list) and results are in the external term format, in hexadecimal.
-mode(compile).
-compile(nowarn_deprecated_function).

main(_) ->
    [line(M, F, A) || {M, Fs} <- calls(), {F, As} <- Fs, A <- As],
    ok.

line(M, F, Args) ->
    Outcome = try apply(M, F, Args) of
                  R -> ["value ", hex(R)]
              catch
                  error:Reason -> ["error ", atom_to_list(Reason)]
              end,
    io:put_chars([atom_to_list(M), " ", atom_to_list(F), " ", hex(Args), " ", Outcome, "\n"]).

hex(T) -> [io_lib:format("~2.16.0B", [B]) || <<B>> <= term_to_binary(T, [{minor_version, 1}])].

calls() ->
    [{erlang, type_tests() ++ integers() ++ floats() ++ booleans() ++ atoms() ++ sums()},
     {string, strings()},
     {math, math()}].

type_tests() ->
    Terms = [0, 1 bsl 70, 1.5, 1.0e300, a, true, [], [1 | 2], {}, {a}, {a, 1}, #{}, #{x => y}, <<>>,
             <<1:3>>, "text", self(), make_ref(), hd(erlang:ports()), fun lists:map/2,
             maps:from_list([{I, I} || I <- lists:seq(1, 40)]),
             fun() -> ok end],
    [{F, [[T] || T <- Terms]}
     || F <- [is_atom, is_binary, is_bitstring, is_boolean, is_float, is_function, is_integer, is_list,
              is_map, is_number, is_pid, is_port, is_reference, is_tuple]] ++
        [{is_function, [[F, N] || F <- [fun lists:map/2, fun(_, _) -> ok end, x, 1],
                                  N <- [0, 1, 2, 3, -1, 1 bsl 70, -(1 bsl 70), a, 2.0]]},
         {is_record, [[{a}, a], [{a, 1}, a], [{b}, a], [{}, a], [x, a], [{a}, 1], [{1}, 1],
                      [{a}, a, 1], [{a}, a, 0], [{a}, a, 2], [{a}, a, -1], [{}, a, 0],
                      [{a}, a, 1 bsl 70], [{a}, a, x], [{a}, 1, 1], [x, a, 1], [x, a, x]]}].

integers() ->
    Texts = ["", "0", "-0", "+5", "-", "+", "12", "0012", "-12", "1_0", "12a", " 1", "1 ", "ff", "FF",
             "zZ", "1.0", lists:duplicate(40, $9), "-1152921504606846976", "-1152921504606846977",
             "1152921504606846975", "1152921504606846976", [$- | lists:duplicate(300, $7)], [300],
             [$1, a], [$1 | $2], foo, 12],
    Bases = [2, 8, 10, 16, 36, 1, 37, a, 1 bsl 70],
    Ints = [0, 1, -1, 255, -255, 1 bsl 59, 1 bsl 60, -(1 bsl 60), -(1 bsl 60) - 1, 1 bsl 64,
            -(1 bsl 200) + 12345, 1.0, a],
    ToBin = fun(T) -> try list_to_binary(T) catch _:_ -> T end end,
    [{list_to_integer, [[T] || T <- Texts] ++ [[T, B] || T <- Texts, B <- Bases]},
     {binary_to_integer, [[ToBin(T)] || T <- Texts] ++ [[<<1:3>>], ["12"], [<<"ff">>, 16], [<<"12">>, 1]]},
     {integer_to_list, [[I] || I <- Ints] ++ [[I, B] || I <- Ints, B <- Bases]},
     {integer_to_binary, [[I] || I <- Ints] ++ [[I, B] || I <- Ints, B <- Bases]}].

floats() ->
    Values = [0.0, -0.0, 1.0, -1.0, 0.1, 1.5, -2.5, 123.456, 99.995, 0.5, 1.0e22, 1.0e250, 1.0e-10, 5.0e-324,
              1.7976931348623157e308, 1 / 3, 9007199254740992.0, 100000.0, 1000.0, 0.00001, a, 1],
    Options = [[], [short], [compact], [{decimals, 0}], [{decimals, 2}], [{decimals, 4}, compact],
               [compact, {decimals, 10}], [{decimals, 20}], [{decimals, 253}], [{decimals, 254}],
               [{decimals, -1}], [{decimals, 1.0}], [{scientific, 0}], [{scientific, 3}],
               [{scientific, 249}], [{scientific, 250}], [{scientific, -1}],
               [short, {decimals, 2}], [{decimals, 2}, short], [{scientific, 3}, compact], [foo],
               [{foo, 1}], [short | foo], foo, [{decimals, 1, 2}]],
    Texts = ["1", "1.0", "+1.0", "-0.0", "1.5e3", "1.5E+3", "1.5e-3", "1.0e-400", "1.0e400", "-1.0e400",
             "1.", ".5", "1.0e", "1.0e+", " 1.0", "1.0 ", "", [300], [$1 | foo], foo, "12345678901234567890.5",
             "0.1e1", "1.7976931348623157e308", "1.7976931348623159e308", "4.9e-324", "2.0e-324",
             lists:duplicate(400, $1) ++ ".0"],
    [{float_to_list, [[F] || F <- Values] ++ [[F, O] || F <- Values, O <- Options]},
     {float_to_binary, [[F] || F <- Values] ++ [[1.5, O] || O <- Options]},
     {list_to_float, [[T] || T <- Texts]},
     {binary_to_float, [[list_to_binary(T)] || T <- Texts, is_list(T), T =/= [300], T =/= [$1 | foo]] ++
          [["1.0"], [<<1:3>>]]},
     {abs, [[V] || V <- [-0.0, -1.5, 1.5, -5, 1 bsl 70, -(1 bsl 70), -(1 bsl 60), a]]},
     {round, [[V] || V <- [0.5, -0.5, 1.5, 2.5, 0.49999999999999994, 4503599627370497.5, 1.0e22, 1.0e300, a]]},
     {float, [[V] || V <- [1, 1.5, 1 bsl 1023, 1 bsl 1024, -(1 bsl 1024), "1"]]}].

booleans() ->
    Values = [true, false, 1, a],
    [{'not', [[V] || V <- Values]}] ++
        [{F, [[A, B] || A <- Values, B <- Values]} || F <- ['and', 'or', 'xor']].

atoms() ->
    Long = lists:duplicate(255, $a),
    TooLong = [$a | Long],
    Lists = ["", "abc", [233], [16#20AC, 16#1F600], [16#D800], [16#10FFFF], [16#110000], [-1], [a], [$a | b], foo,
             Long, TooLong, TooLong ++ [foo], lists:duplicate(255, 16#1F600), lists:duplicate(256, 16#1F600)],
    Binaries = [<<>>, <<"abc">>, <<195, 169>>, <<233>>, <<16#E2, 16#82>>, <<1:3>>, "abc", list_to_binary(Long),
                list_to_binary(TooLong), <<(list_to_binary(TooLong))/binary, 255>>, <<"a", 0>>,
                unicode:characters_to_binary(lists:duplicate(255, 16#1F600)),
                unicode:characters_to_binary(lists:duplicate(256, 16#1F600))],
    Encodings = [latin1, utf8, unicode, utf16, 1],
    Atoms = ['', abc, list_to_atom([233]), list_to_atom([16#20AC, $x]), list_to_atom([255, 256]), "a", 1],
    [{list_to_atom, [[L] || L <- Lists]},
     {list_to_existing_atom, [[L] || L <- ["abc", "no such atom anywhere", TooLong, foo, [a]]]},
     {binary_to_atom, [[B, E] || B <- Binaries, E <- Encodings]},
     {binary_to_existing_atom, [[B, utf8] || B <- [<<"abc">>, <<"no such atom anywhere">>, list_to_binary(TooLong), <<255>>]] ++
                               [[<<"abc">>, latin1], [<<"abc">>, foo]]},
     {atom_to_list, [[A] || A <- Atoms]},
     {atom_to_binary, [[A, E] || A <- Atoms, E <- Encodings]},
     {phash2, [[a], ["text"], [a, 1], [a, 17], [a, 1 bsl 32], [a, (1 bsl 32) + 1], [a, 0], [a, -1], [a, 1.0]]},
     {phash, [[a, 1], [a, 17], [a, 1 bsl 32], [a, (1 bsl 32) + 1], [a, 0], [a, x]]}].

sums() ->
    Data = ["", "abc", <<"abc">>, ["a", [<<"b">>], $c], <<1:3>>, [<<1:3>>], foo, [256], 12],
    <<_:3, Odd:80/bitstring, _/bitstring>> = list_to_binary(lists:seq(1, 20)),
    [{F, [[D] || D <- Data ++ [Odd]]} || F <- [crc32, adler32, md5]] ++
        [{F, [[S, "abc"] || S <- [0, 1, 5, 16#FFFFFFFF, 1 bsl 32, -1, a]]} || F <- [crc32, adler32]] ++
        [{F, [[1, 2, 3], [16#12345678, 16#1234567, 1000000], [1, 2, -3], [1, 2, 1 bsl 32], [1, a, 3]]}
         || F <- [crc32_combine, adler32_combine]] ++
        [{md5_update, [[foo, "a"], [<<>>, "a"]]}, {md5_final, [[<<>>], [a]]}].

strings() ->
    [{list_to_integer,
      [[L] || L <- ["", "+", "-", "--1", "12a", "-12 ", "+5x", [$1, foo], [$1 | foo], foo, [foo], "1.5",
                    [$1, $2 | 3], "0012", [300], <<"1">>, lists:duplicate(70, $9)]]},
     {list_to_float,
      [[L] || L <- ["", "1", "1x", "1.5e3abc", "1.5e", "1.5e+", "1.5e+x", "1.", "1.0e400", "-1.0e400", "1.0e-400",
                    ".5", "+1.5", "-1.5x", [$1, $., $5 | foo], foo, [$1, foo], "1.5E3", "1,5", "1.5e3.2",
                    [$1, $., $5, foo], "1.0e400x", <<"1.0">>]]}].

math() ->
    Args = [0, 1, -1, 0.5, -0.5, 2, 8, 10, 100.0, 1.0e-5, -3.7, 1000, 1 bsl 70, 1 bsl 1024, a],
    [{F, [[A] || A <- Args]}
     || F <- [acos, acosh, asin, asinh, atan, atanh, ceil, cos, cosh, erf, erfc, exp, floor, log, log10, log2,
              sin, sinh, sqrt, tan, tanh]] ++
        [{F, [[A, B] || A <- [0, 1, -8, 2.5, 1024, 1.0e200, a], B <- [0, 1, 0.5, 3, -2, 2000, a]]}
         || F <- [atan2, fmod, pow]] ++
        [{pi, [[]]}].
