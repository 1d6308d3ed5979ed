%% The Mandelbrot and a Julia set drawn with characters.
-module(app_mandelbrot).
-export([main/1]).

main(_) ->
    [io:format("~s~n", [[char(iterate(X / 26 - 2.0, Y / 11, 0.0, 0.0, 60))
                         || X <- lists:seq(0, 77)]]) || Y <- lists:seq(-13, 13)],
    [io:format("~s~n", [[char(julia(X / 20, Y / 9, 60)) || X <- lists:seq(-36, 36)]])
     || Y <- lists:seq(-10, 10)].

iterate(_, _, X, Y, N) when N =:= 0; X * X + Y * Y > 4.0 -> N;
iterate(Cx, Cy, X, Y, N) -> iterate(Cx, Cy, X * X - Y * Y + Cx, 2 * X * Y + Cy, N - 1).

julia(X, Y, N) -> iterate(-0.8, 0.156, X, Y, N).

char(0) -> $@;
char(N) -> lists:nth((60 - N) div 6 + 1, " .,:;+*o%#@@").
