%% Float arithmetic through long expressions (float registers), mixed operands, overflow.
-module(float_arith).
-export([main/1, id/1]).

main(_) ->
    [io:format("~p ~p: ~p ~p ~p ~p~n", [A, B, A + B, A - B, A * B, safe_div(A, B)])
     || A <- [0.0, 1.5, -2.25, 1.0e10, 3, -7, 1 bsl 70, 1.0e-300],
     B <- [1.5, -0.5, 2, 0, 0.0, 1.0e150, 1 bsl 64]],
    io:format("~p~n", [poly(id(1.5), id(2.5), id(-3.0))]),
    io:format("~p~n", [poly(id(1), id(2.5), id(-3))]),
    io:format("~p~n", [[error_of(F) || F <-
        [fun() -> id(1.0e308) * id(10.0) end, fun() -> id(1.0e308) + id(1.0e308) end,
         fun() -> id(-1.0e308) - id(1.0e308) end, fun() -> id(1.0e308) / id(1.0e-10) end,
         fun() -> id(1.0) / id(0.0) end, fun() -> id(0.0) / id(0.0) end,
         fun() -> id(1 bsl 1024) * id(1.0) end,
         fun() -> id(1 bsl 1024) / id(2) end, fun() -> float(id(1 bsl 1024)) end,
         fun() -> id(1.0) + id(a) end,
         fun() -> id(a) / id(1.0) end, fun() -> math:sqrt(id(-1)) end, fun() -> math:log(id(0)) end,
         fun() -> math:exp(id(1000)) end, fun() -> math:pow(id(0), id(-1)) end,
         fun() -> math:sqrt(id(a)) end,
         fun() -> math:fmod(id(1.0), id(0.0)) end]]]),
    io:format("~p~n", [id(1.0e-200) * id(1.0e-200)]),
    io:format("~p~n", [id(1 bsl 1023) / id(2)]),
    io:format("~p~n", [id(1 bsl 2000) div id(1 bsl 1990) / 3]),
    io:format("~p ~p~n", [id(9007199254740993) * id(1.0), id(9007199254740993) / id(1)]),
    io:format("~p~n", [sum(lists:seq(1, 1000), 0.0)]),
    io:format("~p~n", [newton(2.0, 1.0, 20)]),
    io:format("~.10f ~.10f ~.10f~n", [math:sin(1), math:cos(1.0), math:tan(0.5)]),
    io:format("~.10f ~.10f ~.10f ~.10f~n", [math:atan2(1, -2), math:asin(0.5), math:acos(0.5),
                                            math:atan(3)]),
    io:format("~.8f ~.8f ~.8f ~.8f ~.8f~n", [math:exp(1.5), math:log(10), math:log2(10),
                                             math:log10(5), math:pow(2, 0.5)]),
    io:format("~p ~p ~p ~p~n", [math:sqrt(16), math:floor(-1.5), math:ceil(1.2),
                                math:fmod(7.5, 2)]),
    io:format("~p ~p ~p~n", [math:log2(1 bsl 60), math:pi(), math:pow(2, 10)]),
    io:format("~.6f ~.6f ~.6f ~.6f~n", [math:sinh(1), math:cosh(1), math:tanh(1), math:erf(0.5)]).

%% Long enough to keep intermediate results in float registers, with a failing middle.
poly(A, B, C) -> (A * A + B * B - C * C) / (A + B + C + 10.0) * 2 + A / B - (B - C) * 0.5.

safe_div(A, B) -> try A / B catch error:R -> R end.
sum([], S) -> S;
sum([N | T], S) -> sum(T, S + 1 / N).
newton(_, X, 0) -> X;
newton(A, X, N) -> newton(A, (X + A / X) / 2, N - 1).
error_of(F) -> try F() catch C:R -> {C, R} end.
id(X) -> X.
