%% No term is a word of zero to a native library, which may take that for "none": 0 was one (fast_yaml read it as a string).
-module(nif_zero).
-export([start/0]).
-nifs([made/0, given/5, same/1, later/1, raised/1, bad/0]).

made() -> erlang:nif_error(no).
given(_, _, _, _, _) -> erlang:nif_error(no).
same(_) -> erlang:nif_error(no).
later(_) -> erlang:nif_error(no).
raised(_) -> erlang:nif_error(no).
bad() -> erlang:nif_error(no).

start() ->
    ok = erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_zero"), 0),
    Zero = list_to_integer("0"),
    io:format("~p~n", [made()]),
    io:format("~p~n", [given(Zero, [Zero | Zero], {Zero, a, Zero}, #{Zero => Zero}, term_to_binary(Zero))]),
    io:format("~p~n", [[{same(T), later(T)} || T <- [Zero, 1, [], {0}, [0], #{0 => 0}, -0.0]]]),
    io:format("~p~n", [[caught(fun() -> raised(T) end) || T <- [Zero, 1, [], {0}]]]),
    io:format("~p~n", [caught(fun bad/0)]).

caught(F) ->
    try F() catch C:R -> {C, R} end.
