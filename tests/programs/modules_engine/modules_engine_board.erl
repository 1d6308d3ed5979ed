-module(modules_engine_board).
-export([new/0, put/3, get/2, free/1, show/1]).

new() -> list_to_tuple(lists:duplicate(9, '.')).

put(B, I, M) when element(I, B) =:= '.' -> {ok, setelement(I, B, M)};
put(_, I, _) -> {error, {taken, I}}.

get(B, I) -> element(I, B).

free(B) -> [I || I <- lists:seq(1, 9), element(I, B) =:= '.'].

show(B) -> lists:join($/, [[atom_to_list(get(B, R * 3 + C)) || C <- [1, 2, 3]] || R <- [0, 1, 2]]).
