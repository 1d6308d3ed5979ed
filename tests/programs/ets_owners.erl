%% Ownership: protection, heirs, give_away, tables of processes that end, names.
-module(ets_owners).
-export([main/1]).

main(_) ->
    protection(), heirs(), giving(), names(), infos().

protection() ->
    Self = self(),
    [begin
         T = ets:new(t, [P]),
         ets:insert(T, {a, 1}),
         spawn_link(fun() ->
                            Self ! {P, [{N, catch_(fun() -> F(T) end)} || {N, F} <- operations()]}
                    end),
         receive {P, Results} -> [io:format("~p ~p~n", [P, R]) || R <- Results] end
     end || P <- [private, protected, public]].

operations() ->
    [{lookup, fun(T) -> ets:lookup(T, a) end}, {member, fun(T) -> ets:member(T, a) end},
     {first, fun(T) -> ets:first(T) end}, {next, fun(T) -> ets:next(T, a) end},
     {select, fun(T) -> ets:select(T, [{'_', [], ['$_']}]) end}, {match, fun(T) -> ets:match(T,
             '$1') end},
     {count, fun(T) -> ets:select_count(T, [{'_', [], [true]}]) end}, {size, fun(T) -> ets:info(T,
             size) end},
     {protection, fun(T) -> ets:info(T, protection) end}, {slot, fun(T) -> ets:slot(T, 100000) end},
     {element, fun(T) -> ets:lookup_element(T, a, 2) end}, {insert, fun(T) -> ets:insert(T, {b,
             1}) end},
     {bad_insert, fun(T) -> ets:insert(T, x) end}, {insert_new, fun(T) -> ets:insert_new(T, {c,
             1}) end},
     {counter, fun(T) -> ets:update_counter(T, a, 1) end}, {update, fun(T) -> ets:update_element(T,
             a, {2, 9}) end},
     {replace, fun(T) -> ets:select_replace(T, [{{a, '_'}, [], [{{a, new}}]}]) end},
     {object, fun(T) -> ets:delete_object(T, {a, 0}) end}, {take, fun(T) -> ets:take(T, nokey) end},
     {delete, fun(T) -> ets:delete(T, nokey) end}, {fix, fun(T) -> ets:safe_fixtable(T, true) end},
     {select_delete, fun(T) -> ets:select_delete(T, [{{nokey}, [], [true]}]) end},
     {all_objects, fun(T) -> ets:delete_all_objects(T) end}, {setopts, fun(T) -> ets:setopts(T,
             {heir, none}) end},
     {give, fun(T) -> ets:give_away(T, self(), x) end}, {rename,
             fun(T) -> is_reference(ets:rename(T, other)) end},
     {delete_table, fun(T) -> ets:delete(T) end}, {after_that, fun(T) -> ets:info(T, size) end}].

heirs() ->
    Self = self(),
    %% The heir gets the table, with the data that was given.
    Pid = spawn(fun() ->
                        T = ets:new(heired, [named_table, {heir, Self, {data, [1, 2], <<"x">>}}]),
                        ets:insert(T, {k, v}),
                        exit(bye)
                end),
    receive {'ETS-TRANSFER', T1, Pid, Data} -> io:format("~p ~p~n", [T1, Data]) end,
    io:format("~p ~p ~p~n", [ets:lookup(heired, k), ets:info(heired, owner) =:= Self,
            ets:info(heired, heir) =:= Self]),
    ets:delete(heired),
    %% An heir that is dead, or none: the table goes.
    Dead = spawn(fun() -> ok end),
    down(Dead),
    Pid2 = spawn(fun() -> ets:new(gone, [named_table, {heir, Dead, x}]) end),
    down(Pid2),
    io:format("~p~n", [ets:info(gone)]),
    Pid3 = spawn(fun() -> ets:new(gone, [named_table, {heir, Self, x}]), ets:setopts(gone, {heir,
            none}) end),
    down(Pid3),
    io:format("~p~n", [ets:whereis(gone)]),
    %% Set later; several tables at once.
    Pid4 = spawn(fun() ->
                         [begin T = ets:new(x, []), ets:insert(T, {n, N}), ets:setopts(T, {heir,
                                 Self, N}) end || N <- [1, 2, 3]]
                 end),
    io:format("~p~n", [lists:sort([receive {'ETS-TRANSFER', T, Pid4, N} -> {N, ets:lookup(T,
            n)} end || _ <- [1, 2, 3]])]).

giving() ->
    Self = self(),
    T = ets:new(t, [private]),
    ets:insert(T, {a, 1}),
    Pid = spawn(fun() ->
                        receive {'ETS-TRANSFER', T, Self, gift} -> ok end,
                        ets:insert(T, {b, 2}),
                        Self ! {self(), lists:sort(ets:tab2list(T))},
                        receive back -> ets:give_away(T, Self, [deep, {data}]) end
                end),
    io:format("~p~n", [ets:give_away(T, Pid, gift)]),
    receive {Pid, L} -> io:format("~p~n", [L]) end,
    io:format("~p ~p~n", [catch_(fun() -> ets:lookup(T, a) end), catch_(fun() -> ets:give_away(T,
            Pid, x) end)]),
    Pid ! back,
    receive {'ETS-TRANSFER', T, Pid, D} -> io:format("~p ~p~n", [D,
            lists:sort(ets:tab2list(T))]) end,
    down(Pid),
    io:format("~p~n", [[catch_(fun() -> ets:give_away(T, X, y) end) || X <- [Self, Pid, foo]]]),
    P = ets:new(p, [public]),
    spawn(fun() -> Self ! {p, [catch_(fun() -> ets:give_away(P, self(), x) end),
                               catch_(fun() -> ets:setopts(P, {heir, none}) end),
                                       ets:delete(P)]} end),
    receive {p, R} -> io:format("~p ~p~n", [R, ets:info(P)]) end.

names() ->
    a = ets:new(a, [named_table]),
    R = ets:whereis(a),
    ets:insert(R, {x, 1}),
    io:format("~p ~p~n", [ets:lookup(a, x), ets:lookup(R, x)]),
    io:format("~p~n", [catch_(fun() -> ets:new(a, [named_table]) end)]),
    io:format("~p~n", [[ets:rename(a, b), ets:whereis(a), ets:whereis(b) =:= R, ets:lookup(b, x),
            ets:info(b, name)]]),
    ets:new(a, [named_table]),
    io:format("~p~n", [[catch_(fun() -> ets:rename(b, X) end) || X <- [a, b, "c", c]]]),
    io:format("~p~n", [[ets:info(ets:new(same, []), name) || _ <- [1, 2]]]),
    io:format("~p~n", [ets:delete(a)]),
    io:format("~p~n", [[catch_(fun() -> F(a) end) || {_, F} <- operations()]]),
    Bin = term_to_binary(R),
    io:format("~p~n", [ets:lookup(binary_to_term(Bin), x)]),
    io:format("~p~n", [lists:member(c, ets:all())]),
    ets:delete(c),
    io:format("~p ~p~n", [lists:member(c, ets:all()), catch_(fun() -> ets:lookup(R, x) end)]),
    io:format("~p~n", [[catch_(fun() -> ets:lookup(X, x) end) || X <- [1, "a", {a}, undefined,
            self()]]]).

infos() ->
    T = ets:new(t, [{keypos, 2}, bag, public, {read_concurrency, true}, {write_concurrency, true},
            compressed]),
    io:format("~p~n", [[{K, V} || {K, V} <- ets:info(T), not lists:member(K, [id, owner,
            memory])]]),
    io:format("~p~n", [[{I, catch_(fun() -> ets:info(T, I) end)} || I <- [size, type, keypos, name,
            fixed, safe_fixed, nosuch, node, heir]]]),
    io:format("~p~n", [[{O, catch_(fun() -> ets:info(ets:new(t, O), decentralized_counters) end)}
                        || O <- [[], [{write_concurrency, auto}], [{write_concurrency, true}],
                                [ordered_set, {write_concurrency, true}],
                                 [{decentralized_counters, true}], [{decentralized_counters, true},
                                         {write_concurrency, true}],
                                 [{decentralized_counters, false}, ordered_set, {write_concurrency,
                                         true}]]]]),
    io:format("~p~n", [[catch_(fun() -> ets:new(t, O) end)
                        || O <- [x, [x], [set | x], [{keypos, 0}], [{keypos, x}], [{heir, x, y}],
                                [{heir, self()}],
                                 [{write_concurrency, maybe_}], [{read_concurrency, auto}],
                                         [{decentralized_counters, 1}]]]]),
    io:format("~p~n", [catch_(fun() -> ets:new("t", []) end)]),
    io:format("~p~n", [[catch_(fun() -> ets:setopts(T, O) end)
                        || O <- [[], x, {heir, none}, [{heir, none}], [{heir, none}, {heir, none}],
                                {protection, private},
                                 {protection, x}, [{protection, public} | x], {heir, x, y}]]]).

down(Pid) ->
    M = monitor(process, Pid),
    receive {'DOWN', M, process, Pid, _} -> ok end.

catch_(F) ->
    try F()
    catch C:R:S -> {M, N, _, Info} = hd(S), {C, R, M, N, Info}
    end.
