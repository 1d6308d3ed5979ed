%% Float arithmetic in registers, no data.
-module(b_mandelbrot).
-define(REPEAT, 6).
-include("bench.hrl").

-define(SIZE, 160).

once() -> rows(0, 0).

rows(?SIZE, Sum) -> Sum;
rows(Y, Sum) -> rows(Y + 1, row(0, Y, Sum)).

row(?SIZE, _, Sum) -> Sum;
row(X, Y, Sum) ->
    row(X + 1, Y, Sum + iterate(2.0 * X / ?SIZE - 1.5, 2.0 * Y / ?SIZE - 1.0, 0.0, 0.0, 0)).

iterate(_, _, _, _, 200) -> 200;
iterate(Cr, Ci, R, I, N) ->
    R2 = R * R, I2 = I * I,
    if
        R2 + I2 > 4.0 -> N;
        true -> iterate(Cr, Ci, R2 - I2 + Cr, 2.0 * R * I + Ci, N + 1)
    end.
