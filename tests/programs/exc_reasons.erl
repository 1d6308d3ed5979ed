%% The exact reason of every exception the machine raises by itself.
-module(exc_reasons).
-export([main/1, id/1]).

-record(r, {a}).

main(_) ->
    Cases =
        [{badmatch, fun() -> {ok, _} = id(no) end}, {badmatch_list, fun() -> [_ | _] = id([]) end},
         {badmatch_big, fun() -> 18446744073709551616 = id(18446744073709551617) end},
         {badmatch_same, fun() -> X = id(1), X = id(1.0) end},
         {case_clause, fun() -> case id([1, 2]) of a -> 1 end end},
         {case_clause_tuple, fun() -> case {id(1), id(2)} of {a, b} -> 1 end end},
         {if_clause, fun() -> X = id(1), if X =:= 2 -> 1 end end},
         {function_clause, fun() -> only_a(id(b)) end},
         {fun_clause, fun() -> (fun(a) -> 1 end)(id(b)) end},
         {try_clause, fun() -> try id(v) of w -> 1 catch _:_ -> 2 end end},
         {badarith, fun() -> id(a) + 1 end}, {badarith_div, fun() -> 1 div id(0) end},
         {badarg_atom, fun() -> atom_to_list(id(1)) end},
         {badarg_element, fun() -> element(1, id(a)) end},
         {badarg_and, fun() -> id(1) and true end},
         {badarg_andalso, fun() -> id(1) andalso true end},
         {badarg_orelse, fun() -> id(x) orelse true end},
         {not_boolean_if, fun() -> case id(1) of X when X -> 1; _ -> 2 end end},
         {badfun, fun() -> (id(a))() end}, {badarity, fun() -> (fun() -> 1 end)(id(1)) end},
         {undef, fun() -> (id(nosuch)):f() end}, {badmap, fun() -> (id(a))#{b => 1} end},
         {badkey, fun() -> (id(#{}))#{b := 1} end}, {badrecord, fun() -> (id({r, 1, 2}))#r.a end},
         {badrecord_update, fun() -> R = id(x), R#r{a = 1} end},
         {system_limit, fun() -> list_to_atom(lists:duplicate(256, $a)) end},
         {system_limit_shift, fun() -> 1 bsl id(1 bsl 62) end},
         {system_limit_tuple, fun() -> erlang:make_tuple(1 bsl 30, x) end},
         {system_limit_binary_atom, fun() -> binary_to_atom(binary:copy(<<"a">>, 256), utf8) end},
         {bad_generator, fun() -> [X || X <- id(a)] end},
         {bad_bin_generator, fun() -> [X || <<X>> <= id(a)] end},
         {bad_filter, fun() -> [X || X <- [1], id(a)] end},
         {exit_plain, fun() -> exit(id(unused)) end},
         {send_bad_name, fun() -> nobody_here ! msg end},
         {send_bad_dest, fun() -> id(12) ! msg end},
         {register_bad, fun() -> register(undefined, self()) end},
         {link_bad, fun() -> link(id(a)) end},
         {spawn_bad, fun() -> spawn(id(1), f, []) end},
         {apply_bad_args, fun() -> apply(lists, reverse, id(a)) end},
         {list_to_integer, fun() -> list_to_integer(id("x")) end},
         {binary_badarg, fun() -> <<(id(a))>> end},
         {binary_badarg_size, fun() -> <<1:(id(-1))>> end},
         {binary_float, fun() -> <<(id(a))/float>> end},
         {binary_utf8, fun() -> <<(id(16#D800))/utf8>> end},
         {binary_segment, fun() -> <<(id(<<1:3>>))/binary>> end},
         {receive_timeout, fun() -> receive after id(-1) -> ok end end},
         {receive_atom, fun() -> receive after id(x) -> ok end end},
         {throw_uncaught_in_fun, fun() -> throw(id({some, value})) end},
         {exit_term, fun() -> exit(id({shutdown, [1]})) end},
         {error_none, fun() -> error(id(none), none) end},
         {badarg_length, fun() -> length(id([a | b])) end},
         {raise_bad, fun() -> erlang:raise(id(error), x, id([{a, b}])) end}],
    [io:format("~p: ~p~n", [Name, outcome(F)]) || {Name, F} <- Cases].

only_a(a) -> 1.

outcome(F) ->
    try F() of V -> {value, V}
    catch C:{badarity, {G, A}} when is_function(G) -> {C, {badarity, A}};
          C:R -> {C, R}
    end.
id(X) -> X.
