%% JSON text parsed into maps and lists, and written back.
-module(b_json).
-define(REPEAT, 40).
-include("bench.hrl").

once() ->
    Item = <<"{\"id\": 12345, \"name\": \"A name with \\\"quotes\\\"\", \"tags\": [\"a\", \"bb\", \"ccc\"], \"price\": 12.75, \"on\": true, \"none\": null}">>,
    Text = iolist_to_binary([$[, lists:join($,, lists:duplicate(600, Item)), $]]),
    {V, <<>>} = value(Text),
    {length(V), erlang:phash2(iolist_to_binary(write(V)))}.

value(<<C, R/binary>>) when C =< $\s -> value(R);
value(<<"true", R/binary>>) -> {true, R};
value(<<"false", R/binary>>) -> {false, R};
value(<<"null", R/binary>>) -> {null, R};
value(<<$", R/binary>>) -> string(R, <<>>);
value(<<$[, R/binary>>) -> array(R, []);
value(<<${, R/binary>>) -> object(R, #{});
value(R) -> number(R, R, 0, false).

array(<<C, R/binary>>, Acc) when C =< $\s; C =:= $, -> array(R, Acc);
array(<<$], R/binary>>, Acc) -> {lists:reverse(Acc), R};
array(R, Acc) -> {V, R1} = value(R), array(R1, [V | Acc]).

object(<<C, R/binary>>, M) when C =< $\s; C =:= $, -> object(R, M);
object(<<$}, R/binary>>, M) -> {M, R};
object(<<$", R/binary>>, M) ->
    {K, R1} = string(R, <<>>), {V, R2} = value(colon(R1)), object(R2, M#{K => V}).

colon(<<$:, R/binary>>) -> R;
colon(<<_, R/binary>>) -> colon(R).

string(<<$", R/binary>>, Acc) -> {Acc, R};
string(<<$\\, C, R/binary>>, Acc) -> string(R, <<Acc/binary, C>>);
string(<<C, R/binary>>, Acc) -> string(R, <<Acc/binary, C>>).

number(<<C, R/binary>>, All, N, F) when C >= $0, C =< $9; C =:= $- -> number(R, All, N + 1, F);
number(<<C, R/binary>>, All, N, _) when C =:= $.; C =:= $e; C =:= $E;
C =:= $+ -> number(R, All, N + 1, true);
number(R, All, N, F) ->
    <<Text:N/binary, _/binary>> = All,
    {case F of true -> binary_to_float(Text); false -> binary_to_integer(Text) end, R}.

write(B) when is_binary(B) -> [$", B, $"];
write(N) when is_integer(N) -> integer_to_binary(N);
write(F) when is_float(F) -> float_to_binary(F, [short]);
write(A) when is_atom(A) -> atom_to_binary(A);
write(L) when is_list(L) -> [$[, lists:join($,, [write(V) || V <- L]), $]];
write(M) ->
    [${, lists:join($,, [[write(K), $:, write(V)] || {K, V} <- lists:sort(maps:to_list(M))]), $}].
