%% LZ77 with a hash map of three-byte strings; decoding copies from the output so far.
-module(app_lz77).
-export([main/1]).

main(_) ->
    Texts = [<<>>, <<"a">>, <<"aaaaaaaaaaaaaaaaaaaa">>, <<"abcabcabcabcabcx">>,
             binary:copy(<<"to be or not to be, that is the question ">>, 100),
             << <<(I * 7919 rem 256)>> || I <- lists:seq(1, 2000) >>],
    [begin
         C = compress(T), D = decompress(C, <<>>),
         true = D =:= T,
         io:format("~p -> ~p ~p~n", [byte_size(T), byte_size(C), erlang:phash2(C)])
     end || T <- Texts],
    io:format("~p~n", [compress(<<"abcabcabcabcabcx">>)]).

compress(B) -> compress(B, 0, #{}, <<>>).
compress(B, P, _, Out) when P >= byte_size(B) -> Out;
compress(B, P, Seen, Out) ->
    case B of
        <<_:P/binary, K:3/binary, _/binary>> ->
            Seen1 = Seen#{K => P},
            case Seen of
                #{K := Q} when P - Q < 65536 ->
                    L = match(B, Q, P, 3),
                    compress(B, P + L, Seen1, <<Out/binary, 1, (P - Q):16, L>>);
                _ -> literal(B, P, Seen1, Out)
            end;
        _ -> literal(B, P, Seen, Out)
    end.
literal(B, P, Seen, Out) -> compress(B, P + 1, Seen, <<Out/binary, 0, (binary:at(B, P))>>).

match(_, _, _, 255) -> 255;
match(B, Q, P, L) when P + L < byte_size(B) ->
    case binary:at(B, Q + L) =:= binary:at(B, P + L) of
        true -> match(B, Q, P, L + 1);
        false -> L
    end;
match(_, _, _, L) -> L.

decompress(<<0, C, R/binary>>, Out) -> decompress(R, <<Out/binary, C>>);
decompress(<<1, D:16, L, R/binary>>, Out) -> decompress(R, copy(Out, byte_size(Out) - D, L));
decompress(<<>>, Out) -> Out.
copy(Out, _, 0) -> Out;
copy(Out, P, L) -> copy(<<Out/binary, (binary:at(Out, P))>>, P + 1, L - 1).
