%% Writes bit_fields.txt: what OTP reads from and writes to bit strings.
%%   erlc bit_fields.erl && erl -noshell -s bit_fields main -s init stop > bit_fields.txt
%% Flags: 2 little, 4 signed. Bits are given as Size:Hex. Doubles are given as the hex of their bits.
%%   P Hex                                     the bytes that are read
%%   I Offset Size Flags Value                 an integer read
%%   C Offset Size Flags Value Bits            <<-1:Offset, Value:Size, 5:3>>
%%   F Size Flags Bits Double|no               a float read at bit 3
%%   G Size Flags Double Bits                  <<-1:3, Double:Size/float>>
%%   8 First Last Length Sum                   UTF-8: what begins with bytes First..Last (two bytes), 16#8182 behind
%%   6 First Last Length Sum                   UTF-16: likewise for a unit First..Last, 16#DC01 behind
-module(bit_fields).
-export([main/0]).

main() ->
    rand:seed(exsss, {1, 2, 3}),
    Bytes = << <<(rand:uniform(256) - 1)>> || _ <- lists:seq(1, 64) >>,
    io:format("P ~s~n", [hex(Bytes)]),
    [io:format("I ~w ~w ~w ~w~n", [O, S, F, read(Bytes, O, S, F)])
     || O <- lists:seq(0, 7), S <- sizes(), F <- [0, 2, 4, 6]],
    [io:format("C ~w ~w ~w ~w ~s~n", [O, S, F, V, bits(write(V, O, S, F))])
     || O <- [0, 1, 3, 7], S <- sizes(), F <- [0, 2], V <- values()],
    [io:format("F ~w ~w ~s ~s~n", [S, F, bits(B), double(read_float(B, S, F))])
     || S <- [16, 32, 64], F <- [0, 2], B <- patterns(S, F)],
    [io:format("G ~w ~w ~s ~s~n", [S, F, double(D), bits(write_float(D, S, F))])
     || S <- [16, 32, 64], F <- [0, 2], D <- doubles()],
    runs("8", [utf8(X) || X <- lists:seq(0, 65535)]),
    runs("6", [utf16(X) || X <- lists:seq(0, 65535)]).

sizes() -> lists:seq(0, 80) ++ [100, 127, 128, 129, 191, 192, 200].

values() -> [-1, 0, 1234567890123, -98765, 16#123456789abcdef0fedcba9876543210, -16#fedcba98765432100123456789abcdef,
             1 bsl 60, -(1 bsl 60) - 1, (1 bsl 64) - 1, -(1 bsl 64)].

read(B, O, S, 0) -> <<_:O, X:S, _/bits>> = B, X;
read(B, O, S, 2) -> <<_:O, X:S/little, _/bits>> = B, X;
read(B, O, S, 4) -> <<_:O, X:S/signed, _/bits>> = B, X;
read(B, O, S, 6) -> <<_:O, X:S/little-signed, _/bits>> = B, X.

write(V, O, S, 0) -> <<-1:O, V:S, 5:3>>;
write(V, O, S, 2) -> <<-1:O, V:S/little, 5:3>>.

patterns(16, 0) ->
    [<<7:3, X:16>> || X <- [0, 1, 16#8000, 16#3ff, 16#400, 16#7bff, 16#7c00, 16#7c01, 16#fc00, 16#3c00, 16#c001 |
                            [rand:uniform(65536) - 1 || _ <- lists:seq(1, 100)]]];
patterns(32, 0) ->
    [<<7:3, X:32>> || X <- [0, 1, 16#80000000, 16#7f7fffff, 16#7f800000, 16#7f800001, 16#ff800000, 16#3f800000 |
                            [rand:uniform(1 bsl 32) - 1 || _ <- lists:seq(1, 100)]]];
patterns(64, 0) ->
    [<<7:3, X:64>> || X <- [0, 1, 1 bsl 63, 16#7fefffffffffffff, 16#7ff0000000000000, 16#7ff8000000000000, 16#3ff0000000000000 |
                            [rand:uniform(1 bsl 64) - 1 || _ <- lists:seq(1, 100)]]];
patterns(S, 2) -> [<<7:3, X:S/little>> || <<7:3, X:S>> <- patterns(S, 0)].

read_float(B, S, 0) -> case B of <<_:3, X:S/float>> -> X; _ -> no end;
read_float(B, S, 2) -> case B of <<_:3, X:S/float-little>> -> X; _ -> no end.

write_float(D, S, 0) -> <<-1:3, D:S/float>>;
write_float(D, S, 2) -> <<-1:3, D:S/float-little>>.

doubles() ->
    [0.0, -0.0, 1.0, -1.5, 0.1, 65504.0, 65519.0, 65519.999, 65520.0, 70000.0, -1.0e300, 5.0e-324, 1.7976931348623157e308,
     6.1e-5, 6.103515625e-5, 6.0975551605224609e-5, 5.96e-8, 2.98e-8, 2.9802322387695312e-8, 2.9802322387695316e-8, 3.4028235677973366e38,
     3.4028235e38, 1.0e-45, 7.0e-46, 2049.0, 2051.0, 1.00048828125, 1.0004882812500002] ++
    [(rand:uniform() - 0.5) * math:pow(2, rand:uniform(48) - 30) || _ <- lists:seq(1, 150)].

utf8(X) ->
    B = <<X:16, 16#81, 16#82, 0>>,
    case B of <<C/utf8, R/binary>> -> {5 - byte_size(R), C}; _ -> {0, 0} end.

utf16(X) ->
    B = <<X:16, 16#dc01:16, 0>>,
    case B of <<C/utf16, R/binary>> -> {5 - byte_size(R), C}; _ -> {0, 0} end.

runs(Kind, [{L, C} | Rest]) -> runs(Kind, Rest, 0, 0, L, C).
runs(Kind, [{L, C} | Rest], First, Last, L, Sum) -> runs(Kind, Rest, First, Last + 1, L, Sum + C);
runs(Kind, Rest, First, Last, L, Sum) ->
    io:format("~s ~w ~w ~w ~w~n", [Kind, First, Last, L, Sum]),
    case Rest of [] -> ok; [{L1, C} | More] -> runs(Kind, More, Last + 1, Last + 1, L1, C) end.

double(no) -> "no";
double(D) -> hex(<<D/float>>).
bits(B) -> Pad = -bit_size(B) band 7, io_lib:format("~w:~s", [bit_size(B), hex(<<B/bits, 0:Pad>>)]).
hex(B) -> [io_lib:format("~2.16.0b", [X]) || <<X>> <= B].
