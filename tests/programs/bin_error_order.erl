%% Which segment's error is reported when several are wrong: sizes come before values, a unit is a value.
-module(bin_error_order).
-export([main/1]).

main(_) ->
    Values = [1, -1, 1.5, abc, <<1>>, <<1:1>>, <<1:3>>, 16#D800, 1 bsl 70],
    [try F(A, B) of
         R -> io:format("~p ~p ~p: ~p~n", [N, A, B, R])
     catch error:E:S -> Info = element(4, hd(S)), io:format("~p ~p ~p: ~p ~p~n", [N, A, B, E, cause(Info)])
     end || {N, F} <- functions(), A <- Values, B <- Values],
    ok.

cause(Info) -> maps:get(cause, proplists:get_value(error_info, Info, #{}), none).

functions() ->
    [{utf16_binary, fun(A, B) -> <<A/utf16, B/binary>> end},
     {utf8_bits3, fun(A, B) -> <<A/utf8, B/binary-unit:3>> end},
     {utf32_binary, fun(A, B) -> <<A/utf32, B/binary>> end},
     {integer_binary, fun(A, B) -> <<A:8, B/binary>> end},
     {binary_binary, fun(A, B) -> <<A/binary, B/binary>> end},
     {float_binary, fun(A, B) -> <<A:64/float, B/binary>> end},
     {sized_binary, fun(A, B) -> <<1:A, B/binary>> end},
     {binary_sized, fun(A, B) -> <<B/binary, 1:A>> end}].
