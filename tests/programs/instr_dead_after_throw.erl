%% Code behind a call that raises: the compiler for OTP 23 drops a frame there of the size that it had before it was trimmed.
%% The module was refused for it.
-module(instr_dead_after_throw).
-compile([r23]).
-export([main/1, id/1, other/4, f/1]).
-record(rec, {a, b, c, d, e, f}).

main(_) -> io:format("~w~n", [[try f(V) catch C:R -> {C, R} end || V <- [1, 2.5, x]]]).

id(X) -> X.

other(V, _, _, _) when V /= V * V -> no;
other(_, _, N, _) when is_integer(N) -> <<>>.

f(V) ->
    M = id(#{a => 1, b => 2}),
    <<>> = ?MODULE:other(ok, -4611686018427387902, id(16777217), V),
    {if is_float(M) -> M;
    (-(-3) >= (M div 16)), is_record({1,2,3,4}, rec) -> ok;
    true -> throw([1152921504606846976,-1]) end}.
