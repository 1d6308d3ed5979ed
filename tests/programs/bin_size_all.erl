%% The atom `all` that comes as a size at run time is no size.
-module(bin_size_all).
-export([start/0]).

start() ->
    All = id(all),
    Bin = id(<<1, 2>>),
    show(binary, fun() -> <<Bin:All/binary>> end),
    show(empty, fun() -> <<(id(<<>>)):All/binary>> end),
    show(bitstring, fun() -> <<1, Bin:All/bitstring>> end),
    show(append, fun() -> <<Bin/binary, Bin:All/binary>> end),
    show(integer, fun() -> <<1:All>> end),
    show(float, fun() -> <<1.0:All/float>> end),
    show(match, fun() -> <<A:All/binary>> = Bin, A end),
    show(match_more, fun() -> <<A:All/binary, _/bits>> = Bin, A end),
    show(match_bits, fun() -> <<A:All/bitstring>> = Bin, A end),
    show(match_integer, fun() -> <<A:All>> = Bin, A end),
    show(skip, fun() -> case Bin of <<_:All/binary>> -> yes; _ -> no end end),
    show(skip_bits, fun() -> case Bin of <<_:All/bits, X/bits>> -> X; _ -> no end end),
    show(comprehension, fun() -> [X || <<X:All/binary>> <= Bin] end),
    show(whole, fun() -> <<_:8, A/binary>> = Bin, {A, <<1:4, A/bits>>} end),
    show(whole_units, fun() -> case Bin of <<A:1/binary, B/binary-unit:16>> -> {A, B}; _ -> no end end).

show(What, F) ->
    io:format("~p: ~0p~n", [What, try F() catch error:E:Trace -> {E, hd(Trace)} end]).

id(X) -> X.
