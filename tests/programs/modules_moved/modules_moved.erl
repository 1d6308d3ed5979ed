%% A module that goes from one engine to the other and back while processes run in it, hold its funs and
%% literals, wait in it and have deep stacks in it. The argument is how
%% often it moves.
-module(modules_moved).
-export([main/1]).

main([N]) -> run(list_to_integer(N));
main(_) -> run(40).

run(N) ->
    modules_moved_code:module_info(),
    io:format("~p~n", [[bad(fun() -> move(M, E) end)
                        || {M, E} <- [{modules_moved_code, 1}, {"no atom", jit}]]]),
    {error, _} = move(no_such_module_at_all, jit),
    Self = self(),
    Kinds = [{loop, 1}, {tail, 1}, {deep, 3000}, {funs, 1}, {catching, 200}, {garbage, 300},
             {server, 1}],
    Workers = [{Kind, spawn_monitor(fun() -> modules_moved_code:work(Kind, D, Self, 0) end)}
               || {Kind, D} <- Kinds, _ <- [1, 2]],
    %% erl has nothing to move.
    erlang:function_exported(minivm, set_engine, 2) andalso moves(N, jit, 0),
    receive after 50 -> ok end,
    Rounds = [begin
                  P ! {stop, Self},
                  receive {P, Kind, Ok, Rs} when Rs > 0 -> {Kind, Ok};
                          {'DOWN', _, _, P, Why} -> {Kind, died, Why}
                  after 20000 -> {Kind, late, process_info(P, current_stacktrace)}
                  end
              end || {Kind, {P, _}} <- Workers],
    [io:format("~p~n", [R]) || R <- Rounds],
    %% One that stays in code of its own waits there: its code is neither lost nor freed under it.
    {P, R} = spawn_monitor(fun() -> modules_moved_code:stay(Self, {lit, "eral", [1, 2.5]}) end),
    receive {P, staying} -> ok end,
    F = modules_moved_code:literal_fun(),
    {module, _} = move(modules_moved_code, other(engine())),
    io:format("~p ~p~n", [erlang:check_old_code(modules_moved_code), code:soft_purge(modules_moved_code)]),
    {module, _} = again(),
    io:format("~p~n", [F()]),
    P ! {go, Self},
    receive {'DOWN', R, process, P, Result} -> io:format("~p~n", [Result]) end,
    wait_until(fun() -> code:soft_purge(modules_moved_code) end),
    io:format("~p ~p~n", [erlang:check_old_code(modules_moved_code), F()]),
    io:format("~p~n", [modules_moved_code:deep(100)]).

bad(F) -> try F() of R -> R catch C:E -> {C, E} end.

moves(0, _, _) -> ok;
moves(N, Engine, Refused) when Refused < 1000 ->
    case move(modules_moved_code, Engine) of
        {module, _} ->
            Engine = engine(),
            receive after 5 -> ok end,
            moves(N - 1, other(Engine), 0);
        {error, not_purged} ->
            receive after 1 -> ok end,
            moves(N, Engine, Refused + 1)
    end.

other(jit) -> interp;
other(interp) -> jit.

%% The module was moved while a process stayed in its old code: that cannot be left behind twice.
again() ->
    case move(modules_moved_code, other(engine())) of
        {error, not_purged} -> {module, modules_moved_code};
        {module, M} -> {moved_over_code_in_use, M}
    end.

%% minivm's own function; erl has only the one way of loading.
move(M, Engine) ->
    try minivm:set_engine(M, Engine)
    catch error:undef when is_atom(M), is_atom(Engine) ->
            case code:soft_purge(M) of
                false -> {error, not_purged};
                true -> code:load_file(M)
            end;
          error:undef -> error(badarg)
    end.

engine() ->
    try maps:get(engine, maps:get(current, minivm:code_info(modules_moved_code)))
    catch error:undef -> jit
    end.

wait_until(F) ->
    case F() of
        true -> ok;
        false -> receive after 5 -> ok end, wait_until(F)
    end.
