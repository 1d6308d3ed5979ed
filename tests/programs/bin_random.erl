%% Random segments packed into a bit string and taken out again, against a list of bits as the
%% model.
-module(bin_random).
-export([main/1]).

main(_) ->
    {H, _} = lists:foldl(fun(_, {H, S}) -> {B, S1} = round_trip(S), {erlang:phash2({H, B}), S1} end,
                         {0, 77}, lists:seq(1, 400)),
    io:format("~p~n", [H]).

round_trip(S) ->
    {Segs, S1} = segments(S, 12, []),
    Bin = lists:foldl(fun put_segment/2, <<>>, Segs),
    Model = lists:append([model(X) || X <- Segs]),
    true = [B || <<B:1>> <= Bin] =:= Model,
    <<>> = lists:foldl(fun take/2, Bin, Segs),
    %% cut at a random place and put together again
    Cut = (S1 bsr 9) rem (bit_size(Bin) + 1),
    <<Left:Cut/bits, Right/bits>> = Bin,
    true = <<Left/bits, Right/bits>> =:= Bin,
    true = lists:nthtail(Cut, Model) =:= [B || <<B:1>> <= Right],
    true = (Left < Bin) orelse Cut =:= bit_size(Bin),
    {Bin, S1}.

segments(S, 0, Acc) -> {lists:reverse(Acc), S};
segments(S, N, Acc) ->
    S1 = next(S), S2 = next(S1), S3 = next(S2),
    Size = (S1 bsr 12) rem 75, Value = (S2 * S3) band ((1 bsl Size) - 1),
    Seg = case (S3 bsr 15) rem 5 of
              0 -> {big, Size, Value};
              1 -> {little, Size, Value};
              2 -> {signed, Size + 1, Value - (1 bsl Size)};
              3 -> {float, 64, (S2 rem 1000003) / 17.0};
              4 -> {utf8, 0, (S2 bsr 8) rem 16#D800}
          end,
    segments(S3, N - 1, [Seg | Acc]).
next(S) -> (S * 6364136223846793005 + 1442695040888963407) band 16#7FFFFFFFFFFFFFFF.

put_segment({big, Z, V}, B) -> <<B/bits, V:Z>>;
put_segment({little, Z, V}, B) -> <<B/bits, V:Z/little>>;
put_segment({signed, Z, V}, B) -> <<B/bits, V:Z/signed>>;
put_segment({float, 64, V}, B) -> <<B/bits, V/float>>;
put_segment({utf8, _, V}, B) -> <<B/bits, V/utf8>>.

take({big, Z, V}, B) -> <<V:Z, R/bits>> = B, R;
take({little, Z, V}, B) -> <<V:Z/little, R/bits>> = B, R;
take({signed, Z, V}, B) -> <<V:Z/signed, R/bits>> = B, R;
take({float, 64, V}, B) -> <<V/float, R/bits>> = B, R;
take({utf8, _, V}, B) -> <<V/utf8, R/bits>> = B, R.

model({big, Z, V}) -> [(V bsr I) band 1 || I <- lists:seq(Z - 1, 0, -1)];
model({signed, Z, V}) -> [(V bsr I) band 1 || I <- lists:seq(Z - 1, 0, -1)];
model({little, Z, V}) ->
    Whole = [[(V bsr (8 * K + I)) band 1 || I <- lists:seq(7, 0, -1)]
             || K <- lists:seq(0, Z div 8 - 1)],
    lists:append(Whole) ++ [(V bsr (Z div 8 * 8 + I)) band 1 || I <- lists:seq(Z rem 8 - 1, 0, -1)];
model({float, 64, V}) -> [B || <<B:1>> <= <<V/float>>];
model({utf8, _, V}) -> [B || <<B:1>> <= unicode:characters_to_binary([V])].
