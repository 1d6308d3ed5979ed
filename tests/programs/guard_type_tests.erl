%% All type tests on values of all types, as guards, as expressions, and through apply.
-module(guard_type_tests).
-export([main/1, id/1]).
-record(point, {x = 0, y = 0}).

main(_) ->
    X = id(5),
    Values = [0, 1 bsl 59, 1 bsl 60, -(1 bsl 90), 1.0, 1.0e300, 1.0e-300, a, true, false, undefined,
              [], [a], "str", [a | b],
              {}, {a, b}, #point{}, {point, 1}, <<>>, <<1>>, <<1:1>>, #{}, #{a => b},
              maps:from_list([{I, I} || I <- lists:seq(1, 50)]),
              self(), make_ref(), fun id/1, fun ?MODULE:id/1, fun() -> X end,
              fun(A, B) -> {A, B, X} end],
    Tests = [is_atom, is_binary, is_bitstring, is_boolean, is_float, is_function, is_integer,
             is_list, is_map,
             is_number, is_pid, is_port, is_reference, is_tuple],
    [io:format("~s ~s~n", [[$0 + b(apply(erlang, T, [V])) || V <- Values], T]) || T <- Tests],
    io:format("~w~n", [[guards(V) || V <- Values]]),
    io:format("~w~n", [[expressions(V) || V <- Values]]),
    io:format("~w~n", [[is_record(V, point) || V <- Values]]),
    io:format("~w~n", [[is_record(V, point, 3) || V <- Values]]),
    io:format("~w~n", [[erlang:is_record(id(V), id(point)) || V <- Values]]),
    io:format("~w~n", [[{is_function(V, 0), is_function(V, 1), is_function(V, 2)} || V <- Values]]),
    io:format("~p~n", [try is_function(id(a), id(b)) catch error:R -> R end]),
    io:format("~p~n", [try is_function(id(a), id(-1)) catch error:R2 -> R2 end]),
    io:format("~p~n", [try is_record(id({a}), id(1)) catch error:R3 -> R3 end]),
    io:format("~w~n", [[bool(V) || V <- [true, false, 1, undefined]]]).

b(true) -> 1;
b(false) -> 0.

guards(V) when is_atom(V), not is_boolean(V) -> atom;
guards(V) when is_boolean(V) -> boolean;
guards(V) when is_integer(V) -> integer;
guards(V) when is_float(V) -> float;
guards([_ | _]) -> cons;
guards([]) -> nil;
guards(#point{}) -> point;
guards(V) when is_tuple(V) -> tuple;
guards(V) when is_map(V) -> map;
guards(V) when is_binary(V) -> binary;
guards(V) when is_bitstring(V) -> bits;
guards(V) when is_function(V, 2) -> fun2;
guards(V) when is_function(V, 1) -> fun1;
guards(V) when is_function(V) -> 'fun';
guards(V) when is_pid(V) -> pid;
guards(V) when is_reference(V) -> ref.

expressions(V) ->
    [is_integer(V) or is_float(V), is_list(V) andalso V =/= [], is_number(V) xor is_atom(V)].

bool(V) when V =:= true orelse V =:= false -> yes;
bool(_) -> no.
id(X) -> X.
