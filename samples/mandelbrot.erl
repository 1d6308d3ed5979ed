%% The Mandelbrot set as a picture in the PPM format, which most image viewers open.
%%
%%     minivm run mandelbrot.beam                            80 columns drawn with characters
%%     minivm run mandelbrot.beam picture.ppm                400 by 300 pixels to a file
%%     minivm run mandelbrot.beam - 800 600 > picture.ppm    to standard output
%%
%% Every row is computed by a process of its own; rows are put together in their order.
-module(mandelbrot).
-export([main/1]).

-define(LIMIT, 200).  % steps after which a point counts as inside

main([]) -> [io:format("~s~n", [Row]) || Row <- rows(79, 32, fun character/1)], ok;
main([File]) -> main([File, "400", "300"]);
main([File, Columns, Rows]) ->
    Width = list_to_integer(Columns),
    Height = list_to_integer(Rows),
    Pixels = rows(Width, Height, fun color/1),
    Picture = [io_lib:format("P6~n~b ~b~n255~n", [Width, Height]), Pixels],
    write(File, iolist_to_binary(Picture)).

%% The bytes of a picture are no text: standard output has to take them as they are.
write("-", Bytes) ->
    ok = io:setopts(standard_io, [{encoding, latin1}]),
    io:put_chars(standard_io, binary_to_list(Bytes));
write(File, Bytes) ->
    ok = file:write_file(File, Bytes),
    io:format("~s: ~b bytes~n", [File, byte_size(Bytes)]).

rows(Width, Height, Paint) ->
    Main = self(),
    [spawn_link(fun() -> Main ! {row, Y, row(Y, Width, Height, Paint)} end)
     || Y <- lists:seq(0, Height - 1)],
    [receive {row, Y, Row} -> Row end || Y <- lists:seq(0, Height - 1)].

row(Y, Width, Height, Paint) ->
    Im = 2.4 * Y / Height - 1.2,
    [Paint(steps(3.2 * X / Width - 2.2, Im, 0.0, 0.0, 0)) || X <- lists:seq(0, Width - 1)].

%% How many steps z := z*z + c takes to leave the circle of radius 2.
steps(_Cr, _Ci, _Zr, _Zi, ?LIMIT) ->
    ?LIMIT;
steps(_Cr, _Ci, Zr, Zi, N) when Zr * Zr + Zi * Zi > 4.0 ->
    N;
steps(Cr, Ci, Zr, Zi, N) ->
    steps(Cr, Ci, Zr * Zr - Zi * Zi + Cr, 2.0 * Zr * Zi + Ci, N + 1).

character(?LIMIT) -> $\s;
character(N) when N > 40 -> $#;
character(N) when N > 20 -> $*;
character(N) when N > 10 -> $+;
character(N) when N > 6 -> $:;
character(_) -> $..

color(?LIMIT) -> <<0, 0, 0>>;
color(N) -> <<(min(255, N * 3)), (min(255, N * 9)), (min(255, 90 + N * 6))>>.
