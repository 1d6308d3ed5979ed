%% A function that takes long lets others run, and is seen by a name of its own or of what it goes on with: a tracer
%% tells where the process left its scheduler. Deletes of large tables are among them.
-module(names_of_yields).
-export([start/0]).

-define(N, 60000).

start() ->
    List = lists:seq(1, ?N),
    Pairs = [{K, K} || K <- List],
    Map = maps:from_keys(lists:seq(1, 2 * ?N), 1),
    Other = maps:from_keys([-K || K <- List], 1),
    Encoded = term_to_binary(Pairs),
    Iolist = [[97, <<"b">>] || _ <- List],
    L2B = {erts_internal, list_to_binary_continue, 1},
    Checks =
        [{from_list, fun() -> maps:from_list(Pairs) end, {maps, from_list, 1}},
         {from_keys, fun() -> maps:from_keys(List, 1) end, {maps, from_keys, 2}},
         {keys, fun() -> maps:keys(Map) end, {maps, keys, 1}},
         {values, fun() -> maps:values(Map) end, {maps, values, 1}},
         {merge, fun() -> maps:merge(Map, Other) end, {maps, merge_trap, 1}},
         {list_to_binary, fun() -> list_to_binary(Iolist) end, L2B},
         {iolist_to_binary, fun() -> iolist_to_binary(Iolist) end, L2B},
         {bad_list, fun() -> list_to_binary([Iolist, oops]) end, L2B},
         {term_to_binary, fun() -> term_to_binary(Pairs) end, {erts_internal, term_to_binary_trap, 1}},
         {binary_to_term, fun() -> binary_to_term(Encoded) end, {erts_internal, binary_to_term_trap, 1}},
         {insert, fun() -> ets:insert(ets:new(t, []), Pairs) end, {ets, insert, 2}}
        | [{{Type, Name}, fun() -> F(table(Type, Pairs)) end, Expected}
           || Type <- [set, ordered_set], {Name, F, Expected} <- of_tables(Type)]],
    [io:format("~p ~p~n", [Name, seen(F, Expected)]) || {Name, F, Expected} <- Checks].

of_tables(Type) ->
    Select = case Type of set -> select_trap; ordered_set -> select end,
    [{delete, fun ets:delete/1, {ets, delete_trap, 1}},
     {delete_all_objects, fun ets:delete_all_objects/1, {ets, internal_delete_all, 2}},
     {select, fun(T) -> ets:select(T, [{{'_', '$1'}, [{'<', '$1', 1}], ['$1']}]) end, {ets, Select, 1}},
     {match, fun(T) -> ets:match(T, {'_', 0}) end, {ets, Select, 1}},
     {select_count, fun(T) -> ets:select_count(T, [{{'_', '$1'}, [{'<', '$1', 1}], [true]}]) end,
      {ets, count_trap, 1}},
     {select_delete, fun(T) -> ets:select_delete(T, [{{'_', '$1'}, [{'<', '$1', 1}], [true]}]) end,
      {ets, select_delete_trap, 1}},
     {select_replace, fun(T) -> ets:select_replace(T, [{{'$1', 0}, [], [{{'$1', 1}}]}]) end, {ets, replace_trap, 1}}].

table(Type, Pairs) ->
    T = ets:new(t, [Type]),
    ets:insert(T, Pairs),
    T.

%% How the process ended, and whether it left its scheduler there. Where else it did may be chance.
seen(F, Expected) ->
    Tracer = self(),
    {Pid, Monitor} = spawn_monitor(fun() ->
                                           erlang:trace(self(), true, [running, {tracer, Tracer}]),
                                           exit(ended(F))
                                   end),
    Ended = receive {'DOWN', Monitor, process, Pid, Reason} -> Reason end,
    Reference = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Reference} -> ok end,
    Left = left(Pid),
    case lists:member(Expected, Left) of
        true -> {Ended, Expected};
        false -> {Ended, lists:usort(Left)}
    end.

ended(F) ->
    try F() of
        _ -> returned
    catch
        Class:Reason:Trace ->
            {M, Function, Arguments, _} = hd(Trace),
            {Class, Reason, {M, Function, length(Arguments)}}
    end.

left(Pid) ->
    receive
        {trace, Pid, out, MFA} -> [MFA | left(Pid)];
        {trace, Pid, in, _} -> left(Pid)
    after 0 -> []
    end.
