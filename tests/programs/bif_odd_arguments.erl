%% Arguments of BIFs that nobody gives on purpose: found by calls with anything, beside erl.
-module(bif_odd_arguments).
-export([main/1]).

main(_) ->
    %% No bytes: the first sum as it is, whatever the second is.
    Sums = [0, 1, 2, 65520, 65521, 16#10000, 16#12345678, 16#FFFFFFFF, 1 bsl 32, -1],
    [show(adler32_combine, [A, B, Size]) || A <- Sums, B <- Sums, Size <- [0, 1, 2, 65521, 16#FFFFFFFF, 1 bsl 32]],
    [show(crc32_combine, [A, B, Size]) || A <- [0, 1, 16#FFFFFFFF], B <- Sums, Size <- [0, 1, 16#FFFFFFFF]],
    %% A size that is no small integer of OTP's is refused, others never fit.
    [show(is_record, [T, Tag, Size])
     || T <- [{a}, {a, 1}, [], x], Tag <- [a, 1],
        Size <- [0, 1, -1, a, 1.0, (1 bsl 59) - 1, 1 bsl 59, -(1 bsl 59), -(1 bsl 59) - 1, 1 bsl 60, 1 bsl 64]],

    %% Which parts an iovec has, lists of bytes and binaries around the size from which one is a part of its own.
    Parts = [1, 64, 65, 255, 256, 257, 1000],
    [io:format("~w -> ~w~n", [[A, B, C], [byte_size(Part) || Part <- erlang:iolist_to_iovec([part(A), part(B), part(C)])]])
     || A <- Parts ++ [-1, -256], B <- Parts ++ [-1, -255, -256], C <- Parts],
    %% The bytes stay where they are.
    <<_:3/binary, Sub:600/binary, _/binary>> = << <<I>> || I <- lists:seq(1, 1000) >>,
    <<_:5, Odd:600/binary, _/bits>> = << <<I>> || I <- lists:seq(1, 1000) >>,
    Io = ["abc", Sub, $x, Sub | Odd],
    true = iolist_to_binary(Io) =:= iolist_to_binary(erlang:iolist_to_iovec(Io)),
    io:format("~w~n", [erlang:iolist_to_iovec(Io)]).

part(N) when N < 0 -> lists:duplicate(-N, $b);
part(N) -> binary:copy(<<"a">>, N).

show(F, Args) ->
    Result = try apply(erlang, F, Args) catch Class:Reason -> {Class, Reason} end,
    io:format("~w~w -> ~w~n", [F, Args, Result]).
