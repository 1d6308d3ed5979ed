%% Sizes that no bit string can have. Files with tails of 2^63 bits and more were refused.
-module(bin_match_huge_size).
-export([main/1]).

main(_) ->
    Bits = [<<>>, <<1>>, <<1:1>>, <<0:64>>],
    io:format("~p~n", [[[F(B) || F <- [fun a/1, fun b/1, fun c/1, fun d/1, fun e/1]] || B <- Bits]]).

a(<<_:9223372036854775808>>) -> match;
a(_) -> none.

b(<<_:18446744073709551616>>) -> match;
b(_) -> none.

c(<<_:18446744073709551615, Rest/bits>>) -> Rest;
c(_) -> none.

d(<<X, _:576460752303423488/binary>>) -> X;
d(_) -> none.

e(<<_:340282366920938463463374607431768211456>>) -> match;
e(_) -> none.
