%% Parts of a bit string that is no binary: up to OTP 26 those of its whole bytes, badarg from 27 on. They were given always.
-module(bin_parts_of_bits).
-export([main/1]).

main(_) ->
    Bits = [id(<<>>), id(<<1:1>>), id(<<1, 2, 3:4>>), id(<<1, 2>>)],
    [io:format("~w: ~w~n", [B, [attempt(F, B) || F <- parts()]]) || B <- Bits].

parts() ->
    [fun(B) -> binary_part(B, {0, 0}) end, fun(B) -> binary_part(B, 0, 0) end, fun(B) -> binary_part(B, 1, -1) end,
     fun(B) -> binary:part(B, {1, 1}) end, fun(B) -> binary:part(B, 2, -2) end, fun(B) -> binary_to_list(B, 1, 2) end,
     fun(B) when binary_part(B, 0, 1) =:= <<1>> -> first_is_1; (_) -> other end,
     fun binary_to_list/1, fun(B) -> split_binary(B, 1) end, fun(B) -> binary:at(B, 0) end].

attempt(F, B) -> try F(B) catch C:R -> {C, R} end.
id(X) -> X.
