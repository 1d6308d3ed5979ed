%% Instructions with thousands of operands, also where the first one is a constant.
-module(instr_long_lists).
-export([main/1]).

-define(PAIRS, 5000).
-define(CLAUSES, 40000).

main(_) ->
    Module = long_lists,
    Code = [function(large, 1, 1,
                     [{put_map_assoc, {f, 0}, {literal, #{}}, {x, 0}, 1, pairs()}, return]),
            function(changed, 1, 3,
                     [{put_map_assoc, {f, 0}, {literal, #{a => b}}, {x, 0}, 1, pairs()}, return]),
            function(has, 0, 5,
                     [{test, has_map_fields, {f, 7}, {literal, #{1 => 2}}, {list, keys()}},
                      {move, {atom, true}, {x, 0}},
                      return,
                      {label, 7},
                      {move, {atom, false}, {x, 0}},
                      return]),
            function(select, 1, 8, select(10)),
            function(select_constant, 0, 13,
                     [{move, {atom, none}, {x, 1}} | select({integer, 3 * 70}, 15)])],
    Exports = [{F, A} || {function, F, A, _, _} <- Code],
    {ok, Module, Beam} =
        compile:forms({Module, Exports, [], Code, 18}, [from_asm, binary, no_postopt]),
    {module, Module} = code:load_binary(Module, "", Beam),
    show(Module:large(x)),
    show(Module:changed(y)),
    io:format("~p~n", [Module:has()]),
    io:format("~p~n", [[Module:select(X) || X <- [0, 1, 3, 3 * ?CLAUSES - 3, 3 * ?CLAUSES, 1 bsl 70, a]]]),
    io:format("~p~n", [Module:select_constant()]).

show(Map) ->
    io:format("~p ~p ~p~n", [map_size(Map), maps:get(4711, Map), erlang:phash2(lists:sort(maps:keys(Map)))]).

function(Name, Arity, Label, Body) ->
    {function, Name, Arity, Label + 1,
     [{label, Label}, {func_info, {atom, long_lists}, {atom, Name}, Arity}, {label, Label + 1} | Body]}.

keys() -> [{integer, I} || I <- lists:seq(1, ?PAIRS)].
pairs() -> {list, lists:append([[Key, {x, 0}] || Key <- keys()])}.

select(Label) -> select({x, 0}, Label).
select(Source, Label) ->
    [{select_val, Source, {f, Label},
      {list, lists:append([[{integer, 3 * I}, {f, Label + 1 + I rem 2}] || I <- lists:seq(0, ?CLAUSES - 1)])}},
     {label, Label}, {move, {atom, none}, {x, 0}}, return,
     {label, Label + 1}, {move, {atom, even}, {x, 0}}, return,
     {label, Label + 2}, {move, {atom, odd}, {x, 0}}, return].
