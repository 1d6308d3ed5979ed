%% What may go wrong while code is loaded: loaders that are killed at any moment, many loaders at once,
%% on_load functions that fail while others load, loading while processes come and go. The VM goes on, a set
%% of modules is there as a whole or not at all, and the permission to change code is free afterwards.
%% Arguments: how many loaders are killed, how many load at once.
-module(code_faults).
-export([main/1, hook/1]).

main([]) -> main(["40", "50"]);
main([Kills, Loaders]) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    killed(list_to_integer(Kills)),
    at_once(list_to_integer(Loaders)),
    purgers_killed(),
    on_load(),
    spawning(),
    dropped(),
    p(free, permission_is_free()).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).
err(F) -> try F() catch C:R -> {C, R} end.

version(M, N) -> version(M, N, []).
version(M, N, More) ->
    Line = erl_anno:new(1),
    Text = {N, lists:seq(1, 200), list_to_binary(lists:duplicate(100, N rem 256))},
    Forms = [{attribute, Line, module, M}, {attribute, Line, export, [{f, 0}, {g, 0}, {wait, 0}]} | More] ++
        [{function, Line, f, 0, [{clause, Line, [], [], [{integer, Line, N}]}]},
         {function, Line, wait, 0, [{clause, Line, [], [], [{'receive', Line, [{clause, Line, [{atom, Line, go}], [], [{integer, Line, N}]}]}]}]},
         {function, Line, g, 0, [{clause, Line, [], [], [erl_parse:abstract(Text, [{location, 1}])]}]}],
    {ok, M, Bin} = compile:forms(Forms),
    Bin.

%% The code is changed once more, by somebody who has not been killed.
permission_is_free() ->
    M = code_faults_free,
    {module, M} = code:load_binary(M, "x", version(M, 1)),
    {M:f(), code:delete(M), code:purge(M), erlang:module_loaded(M)}.

%% A loader of two modules is killed after a time that grows: while it prepares, while it waits for the
%% permission or for the commit, or afterwards.
killed(Count) ->
    [A, B] = Ms = [code_faults_a, code_faults_b],
    Sets = [{N, [version(M, N) || M <- Ms]} || N <- [1, 2]],
    finish(Ms, element(2, hd(Sets))),
    Found = [killed_after(I, Ms, lists:nth(I rem 2 + 1, Sets)) || I <- lists:seq(1, Count)],
    p(killed, lists:usort(Found)),
    p(still_there, {lists:member(A:f(), [1, 2]), A:f() =:= B:f(), A:g() =:= B:g()}).

finish(Ms, Bins) ->
    Prepared = [erlang:prepare_loading(M, Bin) || {M, Bin} <- lists:zip(Ms, Bins)],
    [code:purge(M) || M <- Ms],
    erlang:finish_loading(Prepared).

killed_after(I, [A, B] = Ms, {_, Bins}) ->
    Loader = spawn_link(fun() -> again(Ms, Bins) end),
    wait(I * I rem 397 * 3),
    exit(Loader, kill),
    receive {'EXIT', Loader, Why} -> Why end,
    %% What had begun is done before anybody else changes code.
    _ = permission_is_free(),
    _ = [code:purge(M) || M <- Ms],
    {Why, A:f() =:= B:f(), A:g() =:= B:g()}.

again(Ms, Bins) -> _ = finish(Ms, Bins), again(Ms, Bins).

%% Microseconds, as far as a busy loop can tell.
wait(Us) ->
    Until = erlang:monotonic_time(microsecond) + Us,
    wait_until(Until).
wait_until(Until) ->
    case erlang:monotonic_time(microsecond) < Until of
        true -> erlang:yield(), wait_until(Until);
        false -> ok
    end.

%% Each loads modules of its own, and one that all load; half of them are killed.
at_once(Count) ->
    Common = code_faults_common,
    Bin = version(Common, 7),
    Own = [{list_to_atom("code_faults_own" ++ integer_to_list(I)), I} || I <- lists:seq(1, Count)],
    Bins = [{M, I, version(M, I)} || {M, I} <- Own],
    Pids = [{I, spawn_link(fun() -> load_all(M, I, Own1, Common, Bin) end)} || {M, I, Own1} <- Bins],
    [exit(Pid, kill) || {I, Pid} <- Pids, I rem 2 =:= 0],
    Ends = [receive {'EXIT', Pid, Why} -> {I rem 2, Why} end || {I, Pid} <- Pids],
    p(at_once, [lists:usort([Why || {1, Why} <- Ends]), [Why || {0, Why} <- Ends, Why =/= killed, Why =/= ok]]),
    p(own, lists:all(fun({M, I}) -> I rem 2 =:= 0 orelse M:f() =:= I end, Own)),
    p(whole, [M || {M, I} <- Own, erlang:module_loaded(M), M:f() =/= I orelse element(1, M:g()) =/= I]),
    p(common, Common:f()).

load_all(M, I, Bin, Common, CommonBin) ->
    {module, M} = erlang:load_module(M, Bin),
    I = M:f(),
    common(Common, CommonBin, 3),
    true = erlang:delete_module(M),
    _ = code:purge(M),
    {module, M} = code:load_binary(M, "own", Bin),
    exit(ok).

common(_, _, 0) -> ok;
common(M, Bin, N) ->
    _ = code:soft_purge(M),
    case erlang:load_module(M, Bin) of
        {module, M} -> 7 = M:f();
        {error, not_purged} -> 7 = M:f()
    end,
    common(M, Bin, N - 1).

%% Who asked for a purge dies; the purge is not left half done.
purgers_killed() ->
    M = code_faults_purged,
    Bins = {version(M, 1), version(M, 2)},
    Results = [begin
                   {module, M} = code:load_binary(M, "x", element(I rem 2 + 1, Bins)),
                   Waiter = spawn(fun() -> M:wait() end),
                   {module, M} = code:load_binary(M, "x", element((I + 1) rem 2 + 1, Bins)),
                   Purger = spawn_link(fun() -> code:purge(M) end),
                   wait(I * 7),
                   exit(Purger, kill),
                   receive {'EXIT', Purger, _} -> ok end,
                   _ = code:purge(M),
                   {is_process_alive(Waiter), erlang:check_old_code(M), M:f() =:= (I + 1) rem 2 + 1}
               end || I <- lists:seq(1, 30)],
    p(purgers, lists:usort(Results)).

hook(Name) -> (persistent_term:get({?MODULE, Name}))().

%% on_load functions that fail, crash, or do not return before they are killed, while others load.
on_load() ->
    Line = erl_anno:new(1),
    Hook = fun(M) -> [{attribute, Line, on_load, {init, 0}},
                      {function, Line, init, 0, [{clause, Line, [], [], [{call, Line, {remote, Line, {atom, Line, ?MODULE}, {atom, Line, hook}}, [{atom, Line, M}]}]}]}] end,
    Self = self(),
    Kinds = [{code_faults_l1, fun() -> no end}, {code_faults_l2, fun() -> error(x) end},
             {code_faults_l3, fun() -> exit(self(), kill) end},
             {code_faults_l4, fun() -> Self ! {stuck, self()}, receive never -> ok end end},
             {code_faults_l5, fun() -> ok end}],
    [persistent_term:put({?MODULE, M}, F) || {M, F} <- Kinds],
    Bins = [{M, version(M, 1, Hook(M))} || {M, _} <- Kinds],
    Pids = [{M, spawn_link(fun() -> exit({code:load_binary(M, "x", Bin), erlang:module_loaded(M)}) end)} || {M, Bin} <- Bins],
    Stuck = receive {stuck, S} -> S end,
    Other = code_faults_beside,
    p(beside, [begin
                   {module, Other} = code:load_binary(Other, "x", version(Other, N)),
                   Other:f()
               end || N <- [1, 2, 3]]),
    exit(Stuck, kill),
    p(on_load, [{M, receive {'EXIT', Pid, Why} -> Why end} || {M, Pid} <- Pids]),
    p(after_on_load, [{M, err(fun() -> M:f() end)} || {M, _} <- Kinds]),
    %% The loader of a module whose function runs dies.
    {M4, Bin4} = lists:nth(4, Bins),
    Dying = spawn_link(fun() -> code:load_binary(M4, "x", Bin4) end),
    Stuck4 = receive {stuck, S4} -> S4 end,
    exit(Dying, kill),
    receive {'EXIT', Dying, killed} -> ok end,
    exit(Stuck4, kill),
    p(dead_loader, {code:ensure_loaded(M4), erlang:module_loaded(M4)}).

%% Processes come, run the code, hold its literals and go while it is loaded and purged.
spawning() ->
    M = code_faults_s,
    Bins = {version(M, 1), version(M, 2)},
    {module, M} = code:load_binary(M, "x", element(1, Bins)),
    Spawners = [spawn_link(fun() -> spawner(M, 0) end) || _ <- lists:seq(1, 4)],
    [begin {module, M} = code:load_binary(M, "x", element(I rem 2 + 1, Bins)) end || I <- lists:seq(1, 20)],
    [P ! {self(), stop} || P <- Spawners],
    p(spawning, lists:usort([receive {P, N} -> N > 0 end || P <- Spawners])),
    [receive {'EXIT', P, normal} -> ok end || P <- Spawners],
    p(last, M:f()).

spawner(M, N) ->
    %% Some of them are killed in old code: that is how it is left.
    Pids = [spawn(fun() ->
                          {V, L, _} = M:g(),
                          true = lists:sum(L) =:= 20100,
                          case I rem 3 of
                              0 -> M:wait();
                              1 -> true = V > 0 andalso M:f() > 0;
                              2 -> receive after 1 -> true = hd(L) =:= 1 end
                          end
                  end) || I <- lists:seq(1, 5)],
    [P ! go || P <- Pids],
    receive
        {Parent, stop} -> Parent ! {self(), N + 1}
    after 0 ->
        spawner(M, N + 1)
    end.

%% What was prepared and is never finished goes away with who prepared it.
dropped() ->
    M = code_faults_d,
    Bin = version(M, 1),
    Pids = [spawn_link(fun() ->
                               [P | _] = [erlang:prepare_loading(M, Bin) || _ <- lists:seq(1, 10)],
                               exit(is_reference(P))
                       end) || _ <- lists:seq(1, 10)],
    p(dropped, {[receive {'EXIT', P, Why} -> Why end || P <- Pids], erlang:module_loaded(M)}).
