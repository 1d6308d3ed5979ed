%% Functions that no guard may call and that the compiler, from OTP 27 on, makes guards of where a try around them
%% does not look at what was raised.
-module(guards_of_tries).
-export([main/1]).

main(_) ->
    [io:format("~w ~w~n", [shown(T), [shown(F(T)) || F <- [fun atom/1, fun atom2/1, fun existing/1, fun existing2/1, fun latin1/1, fun list/1,
                                              fun existing_list/1, fun both/1]]])
     || T <- [<<"main">>, <<"no such atom ", 1>>, <<>>, <<255>>, <<"å"/utf8>>, <<1:3>>, binary:copy(<<"x">>, 256), "main", "",
              [255], [1000], [-1], [a], "no such atom" ++ [2], lists:duplicate(256, $x), [$a | b], atom, 1, {}]],
    [io:format("~p~n", [sum(T)]) || T <- [[<<"main">>, "main"], [<<"main">>, {}], [{}, "main"], []]].

%% The same on each terminal.
shown(A) when is_atom(A) -> {atom, atom_to_list(A)};
shown({yes, A}) -> {yes, shown(A)};
shown(Other) -> Other.

atom(B) -> try binary_to_atom(B) catch _:_ -> no end.
atom2(B) -> try binary_to_atom(B, utf8) catch error:_ -> no end.
existing(B) -> try binary_to_existing_atom(B) catch _:_ -> no end.
existing2(B) -> try binary_to_existing_atom(B, utf8) of A -> {yes, A} catch _:_ -> no end.
latin1(B) -> try binary_to_existing_atom(B, latin1) catch _:_ -> no end.
list(L) -> try list_to_atom(L) catch _:_ -> no end.
existing_list(L) -> try list_to_existing_atom(L) catch _:_ -> no end.

%% With values that are alive around it.
both(T) ->
    X = {T, [T]},
    Y = try binary_to_existing_atom(T, utf8) catch _:_ -> {no, X} end,
    {element(1, X) =:= T, Y =:= {no, X}, hd(element(2, X)) =:= T}.

sum([A, B]) ->
    try {binary_to_existing_atom(A), list_to_existing_atom(B)} catch _:_ -> {none, A, B} end;
sum(_) ->
    empty.
