%% Old code: who runs in it is found and killed by a purge, a soft purge leaves it, funs of purged code,
%% check_process_code/2,3, deleting, the errors of what loads and purges.
-module(code_purge).
-export([main/1, id/1]).

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    killed_at_purge(),
    soft_purge(),
    funs(),
    closed_funs(),
    check_options(),
    deleting(),
    bad_arguments(),
    prepared(),
    literals().

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).
id(X) -> X.
err(F) -> try F() catch C:R -> {C, R} end.

%% A module of one version: f/0 says which, wait/1 stays in it, stay/1 returns to it, text/0 is a literal.
version(M, N) -> version(M, N, []).
version(M, N, Extra) ->
    Text = lists:flatten(
             io_lib:format(
               "-module(~w). -export([f/0,g/0,h/1,wait/1,stay/1,text/0,env/1,caught/1,pass/1]).~s\n"
               "f() -> ~w.\n g() -> fun() -> ~w end.\n h(X) -> fun(Y) -> {~w, X, Y} end.\n"
               "wait(P) -> P ! {self(), waits}, receive {P, go} -> f(); {P, new} -> ~w:wait(P); {P, get} -> P ! {self(), ~w}, wait(P) end.\n"
               "stay(P) -> P ! {self(), waits}, X = code_purge:id(loop(P)), {~w, X}.\n"
               "loop(P) -> receive {P, go} -> done end.\n"
               "caught(P) -> P ! {self(), waits}, try loop(P) of X -> {~w, X} catch C:R -> {~w, C, R} end.\n"
               "pass(X) -> X.\n"
               "text() -> {literal, ~w, [\"some text\", <<\"and bytes that are many enough to be reference-counted if they were no literal: 0123456789\">>, #{a => [1,2,3]}]}.\n"
               "env(X) -> T = text(), fun() -> {T, X} end.\n",
               [M, Extra, N, N, N, M, N, N, N, N, N])),
    Forms = forms(Text),
    {ok, M, Bin} = compile:forms(Forms, [nowarn_unused_function]),
    Bin.

forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    split(Tokens, []).
split([], []) -> [];
split([{dot, _} = Dot | Rest], Acc) ->
    {ok, Form} = erl_parse:parse_form(lists:reverse([Dot | Acc])),
    [Form | split(Rest, [])];
split([T | Rest], Acc) -> split(Rest, [T | Acc]).

load(M, N) -> code:load_binary(M, "nofile", version(M, N)).
%% code:load_binary purges first; this one does not.
plain_load(M, N) -> erlang:load_module(M, version(M, N)).

start(M, F) ->
    Self = self(),
    Pid = spawn_link(fun() -> exit({returned, M:F(Self)}) end),
    receive {Pid, waits} -> Pid end.
ended(Pid) -> receive {'EXIT', Pid, Why} -> Why after 0 -> alive end.
ended_wait(Pid) -> receive {'EXIT', Pid, Why} -> Why end.

killed_at_purge() ->
    M = code_purge_a,
    p(load1, load(M, 1)),
    P1 = start(M, wait),
    P2 = start(M, stay),
    P3 = start(M, caught),
    Idle = spawn_link(fun() -> receive stop -> ok end end),
    p(load2, plain_load(M, 2)),
    p(third, plain_load(M, 3)),
    P1 ! {self(), get}, p(old_goes_on, receive {P1, V} -> V end),
    receive {P1, waits} -> ok end,
    p(checks, [erlang:check_process_code(P, M) || P <- [P1, P2, P3, Idle, self()]]),
    p(other, erlang:check_process_code(P1, code_purge)),
    P4 = start(M, wait),
    p(new, erlang:check_process_code(P4, M)),
    p(moved, begin P1 ! {self(), new}, receive {P1, waits} -> erlang:check_process_code(P1, M) end end),
    p(purge, code:purge(M)),
    p(killed, [ended_wait(P2), ended_wait(P3), ended(P1), ended(P4), ended(Idle)]),
    p(again, code:purge(M)),
    p(old, erlang:check_old_code(M)),
    [P ! {self(), go} || P <- [P1, P4]],
    p(returned, [ended_wait(P1), ended_wait(P4)]),
    Idle ! stop,
    p(idle, ended_wait(Idle)),
    p(load3, plain_load(M, 3)).

soft_purge() ->
    M = code_purge_b,
    load(M, 1),
    P = start(M, stay),
    plain_load(M, 2),
    p(soft_no, [code:soft_purge(M), code:soft_purge(M), erlang:check_old_code(M), ended(P)]),
    P ! {self(), go},
    p(soft_old_result, ended_wait(P)),
    p(soft_yes, [code:soft_purge(M), erlang:check_old_code(M), code:soft_purge(M)]),
    %% load_binary of a module whose old code is in use kills
    Q = start(M, stay),
    load(M, 3),
    load(M, 4),
    p(load_kills, ended_wait(Q)),
    p(f, M:f()).

funs() ->
    M = code_purge_c,
    load(M, 1),
    F = M:g(), G = M:h(x), E = fun M:f/0,
    plain_load(M, 2),
    p(fun_old, {F(), G(y), E()}),
    p(fun_purge, code:purge(M)),
    p(fun_gone, [case err(fun() -> F() end) of {error, {badfun, F}} -> badfun; O1 -> O1 end,
                 case err(fun() -> G(y) end) of {error, {badfun, G}} -> badfun; O2 -> O2 end, E()]),
    p(apply_gone, case err(fun() -> apply(id(F), []) end) of {error, {badfun, F}} -> badfun; O3 -> O3 end),
    p(is_fun, {is_function(F, 0), erlang:fun_info(G, arity), erlang:fun_info(G, env)}),
    %% the same file again: its funs are back
    p(reload, load(M, 1)),
    p(fun_back, {F(), G(y), E()}),
    %% the same file twice: a fun goes on in what is current
    p(twice, [plain_load(M, 1) || _ <- [1]]),
    p(purge_twice, {code:purge(M), code:purge(M)}),
    p(fun_current, {F(), G(z)}),
    %% not loaded at all: undef
    true = code:delete(M), code:purge(M),
    p(fun_unloaded, case err(fun() -> F() end) of {error, undef} -> undef; O4 -> O4 end),
    p(fun_unloaded_trace,
      try F() catch error:undef:St -> case hd(St) of {F, [], []} -> top; Top -> Top end end).

%% Calls of funs of code that is being purged wait for its end.
closed_funs() ->
    M = code_purge_d,
    load(M, 1),
    F = M:g(),
    Stayers = [start(M, stay) || _ <- lists:seq(1, 50)],
    plain_load(M, 2),
    Self = self(),
    Callers = [spawn_link(fun() -> caller(Self, F, 0) end) || _ <- lists:seq(1, 4)],
    p(soft_with_callers, [code:soft_purge(M) || _ <- lists:seq(1, 20)]),
    [P ! {self(), go} || P <- Stayers],
    [ended_wait(P) || P <- Stayers],
    p(soft_ok, soft_purge_until(M)),
    p(callers, [case ended_wait(C) of {badfun, F} -> badfun; W -> W end || C <- Callers]).

%% A caller that was scheduled out on its way into the fun counts as running the old code.
soft_purge_until(M) -> code:soft_purge(M) orelse soft_purge_until(M).

caller(Parent, F, N) ->
    try F() of
        1 -> caller(Parent, F, N + 1)
    catch
        error:Reason -> exit(Reason)
    end.

check_options() ->
    M = code_purge_e,
    load(M, 1),
    P = start(M, stay),
    plain_load(M, 2),
    p(opts, [erlang:check_process_code(P, M, O)
             || O <- [[], [{allow_gc, true}], [{allow_gc, false}]]]),
    p(async, [begin
                  R = erlang:check_process_code(P, M, [{async, {tag, O}}, {allow_gc, O}]),
                  receive {check_process_code, {tag, O}, V} -> {R, V} end
              end || O <- [true, false]]),
    p(async_self, begin erlang:check_process_code(self(), M, [{async, me}]),
                        receive {check_process_code, me, V} -> V end end),
    Dead = spawn(fun() -> ok end),
    timer:sleep(20),
    p(dead, erlang:check_process_code(Dead, M)),
    p(bad, [err(fun() -> erlang:check_process_code(A, B, C) end)
            || {A, B, C} <- [{x, M, []}, {P, 1, []}, {P, M, [{allow_gc, 1}]}, {P, M, [x]}, {P, M, x}]]),
    p(bad2, [err(fun() -> erlang:check_process_code(A, B) end) || {A, B} <- [{x, M}, {P, "m"}]]),
    p(purge, code:purge(M)),
    p(killed, ended_wait(P)).

deleting() ->
    M = code_purge_f,
    load(M, 1),
    P = start(M, stay),
    p(delete, [code:delete(M), erlang:module_loaded(M), erlang:check_old_code(M),
               lists:member(M, erlang:loaded()), code:is_loaded(M)]),
    p(undef, err(fun() -> M:f() end)),
    p(delete_again, code:delete(M)),
    p(check, erlang:check_process_code(P, M)),
    p(load_beside_old, {plain_load(M, 2), M:f(), erlang:check_old_code(M)}),
    p(delete_with_old, {code:delete(M), err(fun() -> erlang:delete_module(M) end)}),
    p(not_purged, plain_load(M, 3)),
    p(purge, {code:purge(M), ended_wait(P)}),
    p(delete_ok, {erlang:delete_module(M), erlang:delete_module(code_purge_nope)}),
    p(purge_module, {erlang:purge_module(M), err(fun() -> erlang:purge_module(M) end)}),
    p(loaded, lists:member(M, erlang:loaded())).

bad_arguments() ->
    p(bad_args, [{F, As, err(fun() -> apply(erlang, F, As) end)}
                 || {F, As} <- [{check_old_code, [1]}, {delete_module, ["m"]}, {purge_module, [[]]},
                                {prepare_loading, [1, <<>>]}, {prepare_loading, [m, x]},
                                {finish_loading, [x]}, {finish_loading, [[x]]}, {finish_loading, [[make_ref] ++ tail]},
                                {has_prepared_code_on_load, [x]}, {call_on_load_function, [x]},
                                {finish_after_on_load, [x, y]}, {finish_after_on_load, [x, true]},
                                {module_loaded, [1]}, {load_module, [1, <<>>]}, {load_module, [m, 1]}]]),
    p(no_file, [err(fun() -> erlang:prepare_loading(m, B) end) || B <- [<<>>, <<"abc">>, <<"FOR1abcdBEAM">>]]),
    p(load_module, [erlang:load_module(m, <<"nothing">>), erlang:load_module(code_purge_x, version(code_purge_y, 1))]),
    p(purger_only, err(fun() -> erts_internal:purge_module(lists, prepare) end)),
    p(ref, err(fun() -> erlang:finish_loading([make_ref()]) end)),
    p(no_modules, erlang:finish_loading([])).

prepared() ->
    [A, B] = Ms = [code_purge_g, code_purge_h],
    Prep = fun(N) -> [erlang:prepare_loading(M, version(M, N)) || M <- Ms] end,
    [Pa, Pb] = Prep(1),
    p(is_ref, {is_reference(Pa), erlang:has_prepared_code_on_load(Pa), erlang:module_loaded(A)}),
    p(both, {erlang:finish_loading([Pa, Pb]), A:f(), B:f()}),
    p(used, [err(fun() -> erlang:finish_loading([Pa]) end),
             err(fun() -> erlang:has_prepared_code_on_load(Pa) end)]),
    [Pa2, Pb2] = Prep(2),
    [Pa3, _] = Prep(3),
    p(duplicated, erlang:finish_loading([Pa2, Pb2, Pa3])),
    p(none, {A:f(), B:f()}),
    p(two, {erlang:finish_loading([Pa2, Pb2]), A:f(), B:f()}),
    [Pa4, Pb4] = Prep(4),
    p(not_purged, erlang:finish_loading([Pa4, Pb4])),
    code:purge(A),
    p(not_purged_b, erlang:finish_loading([Pa4, Pb4])),
    p(none, {A:f(), B:f()}),
    code:purge(B),
    p(four, {erlang:finish_loading([Pb4, Pa4]), A:f(), B:f()}),
    %% from another process, which is dead by then
    {_, Ref} = spawn_monitor(fun() -> code:purge(A), exit(erlang:prepare_loading(A, version(A, 5))) end),
    receive {'DOWN', Ref, _, _, Pa5} -> p(dead_loader, {erlang:finish_loading([Pa5]), A:f()}) end.

%% What a process holds of a module's literals outlives the module.
literals() ->
    M = code_purge_i,
    load(M, 1),
    T = M:text(),
    put(text, T),
    {Env, Part} = {M:env(1), element(3, T)},
    <<_:32, Middle:40/binary, _/binary>> = lists:nth(2, Part),
    Self = self(),
    Holder = spawn_link(fun() ->
                                X = M:text(),
                                put(x, [X | X]),
                                Self ! ready,
                                receive {Self, show} -> exit({X, get(x), self_messages()}) end
                        end),
    receive ready -> ok end,
    [Holder ! M:text() || _ <- [1, 2]],
    self() ! {held, M:text()},
    Tag = erlang:monitor(process, Holder, [{tag, M:text()}]),
    Timer = erlang:send_after(1000, self(), {timer, M:text()}),
    Ets = ets:new(x, []),
    ets:insert(Ets, {1, M:text()}),
    persistent_term:put(code_purge, M:text()),
    load(M, 2), code:purge(M), load(M, 3), code:purge(M),
    [load(code_purge_j, N) || N <- lists:seq(1, 20)],
    erlang:garbage_collect(),
    p(held, T),
    p(same, [get(text) =:= T, element(3, T) =:= Part, Env =/= Part, Middle]),
    receive {held, H} -> p(message, H =:= T) end,
    p(ets, ets:lookup(Ets, 1) =:= [{1, T}]),
    p(persistent, persistent_term:get(code_purge) =:= T),
    Holder ! {Self, show},
    receive
        {T1, Tag, process, Holder, {X, D, Ms}} ->
            p(down, {T1 =:= T, X =:= T, D =:= [T | T], Ms =:= [T, T]})
    end,
    ended_wait(Holder),
    receive {timer, T2} -> p(timer, T2 =:= T) end,
    _ = Timer,
    persistent_term:erase(code_purge).

self_messages() ->
    receive M -> [M | self_messages()] after 0 -> [] end.
