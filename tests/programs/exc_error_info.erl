%% error_info: what erl_error prints for failing BIFs, argument by argument.
-module(exc_error_info).
-export([main/1, id/1]).

main(_) ->
    Cases = [{fun() -> atom_to_list(id(1)) end, a}, {fun() -> list_to_integer(id("1x")) end, b},
             {fun() -> element(id(0), {a}) end, c},
             {fun() -> binary_part(id(<<1, 2>>), 1, 5) end, d},
             {fun() -> integer_to_list(id(1), id(99)) end, e},
             {fun() -> maps:get(id(k), id(#{})) end, f}, {fun() -> lists:keyfind(a, id(-1), []) end,
                                                          g},
             {fun() -> register(id(a), id(b)) end, h}, {fun() -> setelement(id(3), {1}, x) end, i},
             {fun() -> id(a) + id(1) end, j}, {fun() -> tuple_to_list(id([])) end, k},
             {fun() -> list_to_atom(id("a" ++ [-1])) end, l},
             {fun() -> length(id(x)) end, m}, {fun() -> split_binary(id(<<>>), 3) end, n},
             {fun() -> process_info(id(a)) end, o},
             {fun() -> binary_to_term(id(<<1, 2>>)) end, p},
             {fun() -> list_to_binary(id([256])) end, q},
             {fun() -> iolist_to_binary(id(a)) end, r},
             {fun() -> float_to_list(id(1.0), [{decimals, 500}]) end, s}],
    [show(Name, F) || {F, Name} <- Cases].

show(Name, F) ->
    try F() of V -> io:format("~p: ~p~n", [Name, V])
    catch
        C:R:Stack ->
            [{M, Fn, As, Info} | _] = Stack,
            ErrorInfo = proplists:get_value(error_info, Info, none),
            io:format("~p: ~p ~p in ~p:~p~w ~p~n", [Name, C, R, M, Fn, As, is_map(ErrorInfo)])
    end.
id(X) -> X.
