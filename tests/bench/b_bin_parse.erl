%% Binaries taken apart: a record format, varints, bit fields, lines.
-module(b_bin_parse).
-define(REPEAT, 130).
-include("bench.hrl").

once() ->
    Records = << <<(I rem 3), I:32, (I rem 7), (binary:copy(<<"x">>, I rem 7))/binary>>
                || I <- lists:seq(1, 10000) >>,
    Lines = binary:copy(<<"key=value; other=12345\n">>, 3000),
    {records(Records, 0), lines(Lines, 0, 0), bits(Records, 0), words(Records, 0)}.

records(<<0, N:32, L, B:L/binary, R/binary>>, S) -> records(R, S + N + byte_size(B));
records(<<1, N:32/signed, L, _:L/binary, R/binary>>, S) -> records(R, S - N);
records(<<_, N:16, M:16, L, _:L/binary, R/binary>>, S) -> records(R, S + N bxor M);
records(<<>>, S) -> S.

lines(<<$\n, R/binary>>, N, D) -> lines(R, N + 1, D);
lines(<<C, R/binary>>, N, D) when C >= $0, C =< $9 -> lines(R, N, D * 7 + C band 15 band 16#FFFFFF);
lines(<<_, R/binary>>, N, D) -> lines(R, N, D band 16#FFFFFF);
lines(<<>>, N, D) -> {N, D}.

bits(<<A:3, B:5, C:7, _:1, R/bits>>, S) -> bits(R, (S + A * B + C) band 16#FFFFFFF);
bits(_, S) -> S.

words(<<W:64/little, R/binary>>, S) -> words(R, (S bxor W) band 16#FFFFFFFFFFFFFF);
words(_, S) -> S.
