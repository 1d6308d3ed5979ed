#!/usr/bin/env escript
%% Writes what Erlang/OTP computes for every pair of a set of interesting numbers:
%%   escript make_number_table.erl > number_table.txt
%%
%% Lines of the table, words separated by a space:
%%   number N            a number; they are counted from 0
%%   shift N             a distance for bsl and bsr
%%   unary OP R ...      results of OP for each number
%%   binary OP I R ...   results of OP for number I with each number
%%   shifted OP I R ...  results of OP for number I with each distance
%% An integer is written in base 36, a float as f and its 64 bits in hexadecimal, text as t and
%% its characters, true as ^ and false as _, badarith as ! and another error as ! and its reason.
-mode(compile).
-compile(nowarn_deprecated_function).

main(_) ->
    Ns = numbers(),
    Shifts = shifts(),
    [put_line(["number ", format(N)]) || N <- Ns],
    [put_line(["shift ", format(S)]) || S <- Shifts],
    [put_line(["unary ", Op, row([{F, [N]} || N <- Ns])]) || {Op, F} <- unary()],
    [put_line(["binary ", Op, " ", integer_to_list(I), row([{F, [A, B]} || B <- Ns])])
     || {Op, F} <- binary(), {I, A} <- numbered(Ns)],
    [put_line(["shifted ", Op, " ", integer_to_list(I), row([{F, [A, S]} || S <- Shifts])])
     || {Op, F} <- [{"bsl", fun erlang:'bsl'/2}, {"bsr", fun erlang:'bsr'/2}],
        {I, A} <- numbered(Ns)],
    ok.

numbered(L) -> lists:zip(lists:seq(0, length(L) - 1), L).

numbers() ->
    Powers = [1 bsl N || N <- [31, 32, 53, 59, 60, 61, 63, 64, 128]],
    Small = [0, 1, -1, 2, -2, 7, -10, 255, 1000],
    Edges = lists:append([[P - 1, P, P + 1, -P, -P - 1] || P <- lists:nthtail(3, Powers)]),
    Odd = [1 bsl 31, -(1 bsl 31), 1 bsl 32, (1 bsl 53) + 1, pow(10, 30), -pow(3, 100), pow(7, 150),
           1 bsl 192, (1 bsl 64) + (1 bsl 63) + (1 bsl 12) + (1 bsl 11) - 1, 1 bsl 1023, 1 bsl 1024],
    Floats = [0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 1.5, 2.5, -2.5, 3.7, -3.7, 1.0e10, 1.0e22, 1.0e23,
              9007199254740992.0, 9007199254740993.0, 1152921504606846976.0, -1152921504606846976.0,
              18446744073709551616.0, 1.0e100, 1.0e300, -1.0e300, 1.7976931348623157e308, 5.0e-324,
              2.2250738585072014e-308, 1.0e-300, 1.0e-10, 123456.789],
    Small ++ Edges ++ Odd ++ Floats.

shifts() ->
    Far = [1 bsl 40, 1 bsl 59, 1 bsl 60, (1 bsl 63) - 1, 1 bsl 63, 1 bsl 64, 1 bsl 70],
    Near = [0, 1, 2, 3, 4, 31, 32, 58, 59, 60, 61, 62, 63, 64, 65, 127, 128, 300],
    Near ++ [-N || N <- Near, N > 0] ++ Far ++ [-F || F <- Far] ++ [1.0].

pow(B, 1) -> B;
pow(B, N) -> B * pow(B, N - 1).

unary() ->
    [{"-", fun erlang:'-'/1}, {"+", fun erlang:'+'/1}, {"bnot", fun erlang:'bnot'/1},
     {"abs", fun erlang:abs/1}, {"float", fun erlang:float/1}, {"trunc", fun erlang:trunc/1},
     {"round", fun erlang:round/1}, {"floor", fun erlang:floor/1}, {"ceil", fun erlang:ceil/1},
     {"phash2", fun erlang:phash2/1}, {"is_integer", fun erlang:is_integer/1},
     {"integer_to_list", fun erlang:integer_to_list/1}, {"float_to_list", fun erlang:float_to_list/1}].

binary() ->
    [{"+", fun erlang:'+'/2}, {"-", fun erlang:'-'/2}, {"*", fun erlang:'*'/2},
     {"/", fun erlang:'/'/2}, {"div", fun erlang:'div'/2}, {"rem", fun erlang:'rem'/2},
     {"band", fun erlang:'band'/2}, {"bor", fun erlang:'bor'/2}, {"bxor", fun erlang:'bxor'/2},
     {"<", fun erlang:'<'/2}, {"=<", fun erlang:'=<'/2}, {"==", fun erlang:'=='/2},
     {"map_order", fun(A, B) -> #{A => 0} < #{B => 0} end},
     {"min", fun erlang:min/2}, {"max", fun erlang:max/2}].

row(Calls) -> [[" ", call(F, Args)] || {F, Args} <- Calls].

call(F, Args) ->
    try apply(F, Args) of
        R -> format(R)
    catch
        error:badarith -> "!";
        error:Reason -> ["!", atom_to_list(Reason)]
    end.

format(N) when is_integer(N) -> integer_to_list(N, 36);
format(F) when is_float(F) ->
    <<Bits:64>> = <<F/float>>,
    ["f", string:right(integer_to_list(Bits, 16), 16, $0)];
format(true) -> "^";
format(false) -> "_";
format(L) when is_list(L) -> ["t", L].

put_line(L) -> io:put_chars([L, "\n"]).
