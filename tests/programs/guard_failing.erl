%% A guard that would raise fails instead: alone, in conjunctions, alternatives and nested not.
-module(guard_failing).
-export([main/1]).
-record(a, {}).

main(_) ->
    Values = [0, 1, -1, 2.0, a, true, false, [], [1], [1, 2], [1 | 2], {}, {a}, {1, 2, 3}, <<>>,
              <<1, 2>>, <<1:3>>, #{}, #{k => 1},
              1 bsl 70, "abc", self(), make_ref(), fun main/1],
    Guards = [{len, fun(X) when length(X) > 1 -> y; (_) -> n end},
              {hd, fun(X) when hd(X) =:= 1 -> y; (_) -> n end},
              {tl, fun(X) when tl(X) =:= [2]; tl(X) =:= 2 -> y; (_) -> n end},
              {element, fun(X) when element(1, X) =:= 1 -> y; (_) -> n end},
              {element_computed, fun(X) when element(tuple_size(X), X) =:= 3 -> y; (_) -> n end},
              {tuple_size, fun(X) when tuple_size(X) < 3 -> y; (_) -> n end},
              {size, fun(X) when size(X) =:= 2 -> y; (_) -> n end},
              {byte_size, fun(X) when byte_size(X) =:= 1 -> y; (_) -> n end},
              {bit_size, fun(X) when bit_size(X) =:= 3 -> y; (_) -> n end},
              {map_size, fun(X) when map_size(X) =:= 1 -> y; (_) -> n end},
              {map_get, fun(X) when map_get(k, X) =:= 1 -> y; (_) -> n end},
              {is_map_key, fun(X) when is_map_key(k, X) -> y; (_) -> n end},
              {plus, fun(X) when X + 1 > 1 -> y; (_) -> n end},
              {division, fun(X) when 1 / X > 0 -> y; (_) -> n end},
              {rem_, fun(X) when 10 rem X =:= 0 -> y; (_) -> n end},
              {bsl_, fun(X) when X bsl 2 =:= 4 -> y; (_) -> n end},
              {abs_, fun(X) when abs(X) =:= 1 -> y; (_) -> n end},
              {or_, fun(X) when length(X) > 1; is_atom(X) -> y; (_) -> n end},
              {strict_or, fun(X) when (length(X) > 1) or is_atom(X) -> y; (_) -> n end},
              {orelse_, fun(X) when is_atom(X) orelse length(X) > 1 -> y; (_) -> n end},
              {andalso_, fun(X) when is_list(X) andalso length(X) > 1 -> y; (_) -> n end},
              {not_, fun(X) when not (length(X) > 1) -> y; (_) -> n end},
              {bare, fun(X) when X -> y; (_) -> n end},
              {not_bare, fun(X) when not X -> y; (_) -> n end},
              {and_bare, fun(X) when X and true -> y; (_) -> n end},
              {xor_bare, fun(X) when X xor true -> y; (_) -> n end},
              {node_, fun(X) when node(X) =:= node() -> y; (_) -> n end},
              {self_, fun(X) when X =:= self() -> y; (_) -> n end},
              {binary_part, fun(X) when binary_part(X, 0, 2) =:= <<1, 2>> -> y; (_) -> n end},
              {is_record, fun(X) when is_record(X, a) -> y; (_) -> n end},
              {is_record3, fun(X) when is_record(X, a, 1) -> y; (_) -> n end},
              {is_function2, fun(X) when is_function(X, 1) -> y; (_) -> n end},
              {trunc_, fun(X) when trunc(X) =:= 2 -> y; (_) -> n end},
              {float_, fun(X) when float(X) =:= 2.0 -> y; (_) -> n end},
              {big, fun(X) when X > (1 bsl 69), is_integer(X) -> y; (_) -> n end}],
    [io:format("~p: ~p~n", [Name, [G(V) || V <- Values]]) || {Name, G} <- Guards],
    io:format("~p~n", [[nested(V) || V <- Values]]),
    io:format("~p~n",
              [[if is_list(V), length(V) =:= 2 -> pair; is_tuple(V), element(1, V) =:= a -> a;
                           is_integer(V) -> {int, V}; true -> other end || V <- Values]]).

nested(X) when (is_list(X) andalso hd(X) =:= 1 andalso tl(X) =/= []) orelse
               (is_tuple(X) andalso tuple_size(X) > 1 andalso not (element(2, X) < 2)) -> y;
nested(X) when X > 0, X < 10; is_map(X), map_size(X) > 0 -> z;
nested(_) -> n.
