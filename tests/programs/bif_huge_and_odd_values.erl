%% Values at the edges of what these take: years that C does not know, reductions, floats with a comma, names of variables.
-module(bif_huge_and_odd_values).
-export([main/1]).

main(_) ->
    [show(erlang, posixtime_to_universaltime, [Sign * (1 bsl Bits) + D])
     || Sign <- [1, -1], Bits <- lists:seq(30, 63), D <- [-1, 0, 1]],
    [show(erlang, posixtime_to_universaltime, [S]) || S <- [0, -1, -62167219200, -62167219201, -62162121600, foo, 1.0]],
    [show(erlang, bump_reductions, [N]) || N <- [0, 1, -1, 1 bsl 58, (1 bsl 59) - 1, 1 bsl 59, 1 bsl 63, 1 bsl 70, a]],
    [begin show(erlang, list_to_float, [T]), show(erlang, binary_to_float, [list_to_binary(T)]) end
     || T <- ["1,5", "-1,5e3", "+1,5", "1,", ",5", "1,5,", "1.5,", "1,5.", "1,5e400", "1,5e-400", "1,5\0,", "1"]],
    [show(string, F, [T]) || F <- [to_float, list_to_float], T <- ["1,5", "1,5,6"], erlang:function_exported(string, F, 1)],
    [show(os, F, [N]) || F <- [getenv, unsetenv],
                         N <- ["a=b", "=b", "b=", "", [0], "a\0b", <<"a">>, a, [16#D800], [16#110000], "a" ++ b]],
    [show(os, putenv, [N, V]) || N <- ["a=b", "=b", "b=", "\0", <<"a">>, a], V <- ["v"]],
    [begin show(os, putenv, ["MINIVM_V", V]), show(os, getenv, ["MINIVM_V"]) end
     || V <- ["v", "=", "", <<"v">>, v, [[$v], "w"], [$v | w], [16#E5], [16#FFFF], [16#10FFFF], [16#D800], [16#110000], [0]]],
    %% A variable without a name.
    show(os, putenv, ["", "nameless"]),
    show(os, getenv, [""]),
    show(os, putenv, [[], "again"]),
    show(os, getenv, ["", default]),
    show(os, unsetenv, [""]),
    show(os, getenv, ["", default]).

show(M, F, Args) ->
    Result = try apply(M, F, Args) catch C:E -> {C, E} end,
    io:format("~w:~w ~0p -> ~0p~n", [M, F, Args, Result]).
