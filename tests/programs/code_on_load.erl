%% on_load: accepted, refused, crashing, ended from outside, never returning, calling its own module,
%% loaded on demand; what is current meanwhile, and what several at once see.
-module(code_on_load).
-export([main/1, hook/1]).

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    accepted(),
    refused(),
    waiting(),
    own_module(),
    on_demand(),
    raw(),
    several(),
    prints().

%% Printing has to end within the function, not only when it has returned.
prints() ->
    M = code_on_load_prints,
    set(M, fun() -> io:format("printed ~w~n", [by_on_load]) end),
    p(prints, load(M, 1)).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).
err(F) -> try F() catch C:R -> {C, R} end.

%% What the on_load function does is what the test has put there.
hook(M) ->
    F = persistent_term:get({?MODULE, M}),
    F().
set(M, F) -> persistent_term:put({?MODULE, M}, F).

version(M, N) ->
    Forms = [form(L) || L <- [io_lib:format("-module(~w).", [M]), "-on_load(init/0).", "-export([f/0, g/0, init/0]).",
                              io_lib:format("init() -> code_on_load:hook(~w).", [M]),
                              io_lib:format("f() -> ~w.", [N]), io_lib:format("g() -> fun() -> {~w, [a, \"literal\"]} end.", [N])]],
    {ok, M, Bin} = compile:forms(Forms),
    Bin.
plain(M, N) ->
    Forms = [form(L) || L <- [io_lib:format("-module(~w).", [M]), "-export([f/0]).", io_lib:format("f() -> ~w.", [N])]],
    {ok, M, Bin} = compile:forms(Forms),
    Bin.
form(Text) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.
load(M, N) -> code:load_binary(M, "x", version(M, N)).

accepted() ->
    M = code_on_load_a,
    Self = self(),
    set(M, fun() -> Self ! {ran, self() =/= Self, erlang:module_loaded(M)}, ok end),
    p(load, load(M, 1)),
    receive R -> p(ran, R) end,
    p(f, {M:f(), (M:g())()}),
    p(load2, load(M, 2)),
    receive R2 -> p(ran_with_old_current, R2) end,
    p(f2, {M:f(), erlang:check_old_code(M)}),
    p(file, {code:is_loaded(M), code:which(M)}).

refused() ->
    M = code_on_load_b,
    lists:foreach(
      fun({Name, F}) ->
              set(M, F),
              p(Name, {load(M, 1), erlang:module_loaded(M), code:is_loaded(M), err(fun() -> M:f() end)})
      end,
      [{not_ok, fun() -> no end}, {list, fun() -> [1] end}, {error, fun() -> error(x) end},
       {throw, fun() -> throw(x) end}, {exit, fun() -> exit(x) end}, {exit_ok, fun() -> exit(ok) end},
       {undef, fun() -> nope:nope() end}, {killed, fun() -> exit(self(), kill) end},
       {badmatch, fun() -> 1 = length([2, 3]) end}]),
    set(M, fun() -> ok end),
    p(now, {load(M, 2), M:f()}),
    set(M, fun() -> no end),
    p(keeps_current, {load(M, 3), M:f(), (M:g())(), erlang:check_old_code(M)}),
    p(purged, {code:purge(M), M:f()}),
    set(M, fun() -> exit(ok) end),
    p(plain, {code:load_binary(M, "x", plain(M, 5)), M:f()}).

%% The server goes on while a function does not return; those who want the module wait.
waiting() ->
    M = code_on_load_c,
    Self = self(),
    set(M, fun() -> Self ! {in, self()}, receive {Self, R} -> R end end),
    Load = fun() -> exit({res, load(M, 1)}) end,
    {P1, _} = {spawn_link(Load), 0},
    In = receive {in, I} -> I end,
    P2 = spawn_link(fun() -> exit({res, code:ensure_loaded(M)}) end),
    P3 = spawn_link(fun() -> exit({res, err(fun() -> M:f() end)}) end),
    p(other, {code:load_binary(code_on_load_d, "x", plain(code_on_load_d, 1)), code_on_load_d:f()}),
    p(pending, {erlang:module_loaded(M), code:is_loaded(M),
                code:atomic_load([{M, "x", plain(M, 9)}])}),
    p(alive, [is_process_alive(P) || P <- [P1, P2, P3]]),
    timer:sleep(50),
    In ! {Self, ok},
    p(p1, receive {'EXIT', P1, W1} -> W1 end),
    p(p2, receive {'EXIT', P2, W2} -> W2 end),
    p(p3, receive {'EXIT', P3, W3} -> W3 end),
    p(f, M:f()),
    %% never returns: killed
    P5 = spawn_link(fun() -> exit({res, load(M, 3)}) end),
    In3 = receive {in, K} -> K end,
    exit(In3, kill),
    p(killed, receive {'EXIT', P5, W5} -> W5 end),
    p(still, M:f()).

own_module() ->
    M = code_on_load_e,
    set(M, fun() -> {error, undef} = err(fun() -> M:f() end), ok end),
    p(own, {load(M, 1), M:f()}),
    set(M, fun() -> 1 = M:f(), ok end),
    p(old_one, {load(M, 2), M:f()}).

on_demand() ->
    M = code_on_load_f,
    Dir = "/tmp/minivm_on_load_" ++ os:getpid(),
    ok = file:make_dir(Dir),
    ok = file:write_file(filename:join(Dir, "code_on_load_f.beam"), version(M, 1)),
    true = code:add_patha(Dir),
    Self = self(),
    set(M, fun() -> Self ! ran, no end),
    p(fails, {err(fun() -> M:f() end), code:ensure_loaded(M)}),
    p(ran, [receive ran -> ran end || _ <- [1, 2]]),
    set(M, fun() -> Self ! ran, timer:sleep(20), ok end),
    Ps = [spawn_link(fun() -> exit(M:f()) end) || _ <- lists:seq(1, 20)],
    p(all, lists:usort([receive {'EXIT', P, W} -> W end || P <- Ps])),
    p(once, [receive ran -> ran end, receive ran -> twice after 0 -> once end]),
    true = code:delete(M),
    code:purge(M),
    F = fun M:f/0,
    p(export_fun, F()),
    receive ran -> ok end,
    Local = M:g(),
    true = code:delete(M), code:purge(M),
    p(local_fun, Local()),
    receive ran -> ok end,
    true = code:del_path(Dir),
    ok = file:del_dir_r(Dir).

raw() ->
    M = code_on_load_g,
    set(M, fun() -> ran end),
    P = erlang:prepare_loading(M, version(M, 1)),
    p(has, erlang:has_prepared_code_on_load(P)),
    Q = erlang:prepare_loading(code_on_load_h, plain(code_on_load_h, 1)),
    p(limit, err(fun() -> erlang:finish_loading([P, Q]) end)),
    p(alone, erlang:finish_loading([P])),
    p(state, {erlang:module_loaded(M), lists:member(M, erlang:loaded()), err(fun() -> M:f() end)}),
    p(call, spawn_and_get(fun() -> erlang:call_on_load_function(M) end)),
    p(accept, {erlang:finish_after_on_load(M, true), M:f(), err(fun() -> erlang:finish_after_on_load(M, true) end)}),
    p(load_module, erlang:load_module(M, version(M, 2))),
    p(refuse, {erts_code_purger:finish_after_on_load(M, false), M:f(),
               err(fun() -> erlang:finish_after_on_load(M, false) end)}),
    p(not_allowed, code:atomic_load([{M, "x", version(M, 3)}])).

spawn_and_get(F) ->
    {_, Ref} = spawn_monitor(fun() -> exit({got, F()}) end),
    receive {'DOWN', Ref, _, _, W} -> W end.

several() ->
    Ms = [list_to_atom("code_on_load_x" ++ integer_to_list(N)) || N <- lists:seq(1, 8)],
    [set(M, fun() -> case N rem 2 of 0 -> ok; 1 -> {failed, M} end end) || {N, M} <- lists:enumerate(Ms)],
    Ps = [{M, spawn_link(fun() -> exit({load(M, 1), err(fun() -> M:f() end)}) end)} || M <- Ms],
    p(several, [{M, receive {'EXIT', P, W} -> W end} || {M, P} <- Ps]).
