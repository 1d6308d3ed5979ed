%% Binaries built by appending in loops and by comprehensions.
-module(b_bin_build).
-define(REPEAT, 25).
-include("bench.hrl").

once() ->
    A = bytes(200000, <<>>), B = bits(100000, <<>>), C = << <<(X bxor 16#55)>> || <<X>> <= A >>,
    D = << <<X:16/little>> || X <- lists:seq(1, 50000) >>,
    {byte_size(A), bit_size(B), erlang:phash2(C), erlang:phash2(D)}.

bytes(0, B) -> B;
bytes(N, B) -> bytes(N - 1, <<B/binary, N>>).

bits(0, B) -> B;
bits(N, B) -> bits(N - 1, <<B/bits, N:3, (N bsr 3):7>>).
