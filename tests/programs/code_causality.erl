%% Whoever learns of new code sees the new code, however it learns of it: a message, atomics, counters, a
%% persistent term, a name, an ETS table, a link, a monitor, a timer, what process_info tells. The loader
%% loads version N and then gives the sign; each of the others looks for the sign, without leaving its
%% time slice where it can, and calls. Arguments: versions and kinds; tests/programs/causality_mutants.py
%% uses them where the VM leaves out what makes this so.
-module(code_causality).
-export([main/1]).

-define(M, code_causality_m).

kinds() ->
    [message, waited_message, atomics, counters, persistent_term, name, send_to_name, ets, link, monitor, timer,
     process_info, dictionary, alias, is_alive].

main([]) -> main(["8" | [atom_to_list(K) || K <- kinds()]]);
main([Versions | Kinds]) ->
    logger:set_primary_config(level, none),
    Bins = [{N, version(N)} || N <- lists:seq(1, list_to_integer(Versions))],
    [io:format("~s: ~0tp~n", [K, kind(list_to_existing_atom(K), Bins)]) || K <- Kinds].

%% Where the VM was started so that it does, to show that this test can fail.
leave_out_rereads(Yes) ->
    _ = erlang:function_exported(minivm, leave_out_rereads, 1) andalso minivm:leave_out_rereads(Yes).

version(N) ->
    Line = erl_anno:new(1),
    {ok, ?M, Bin} = compile:forms([{attribute, Line, module, ?M}, {attribute, Line, export, [{f, 0}]},
                                   {function, Line, f, 0, [{clause, Line, [], [], [{integer, Line, N}]}]}]),
    Bin.

kind(Kind, Bins) ->
    Shared = #{atomics => atomics:new(1, []), counters => counters:new(1, []),
               ets => ets:new(t, [public])},
    {module, ?M} = code:load_binary(?M, "m", element(2, lists:last(Bins))),
    Results = lists:append([round(Kind, N, Bin, Shared) || {N, Bin} <- Bins]),
    persistent_term:erase(?MODULE),
    case [R || R <- Results, R =/= ok] of
        [] -> ok;
        Bad -> Bad
    end.

%% The waiters have called the version before when the new one is loaded. There is one for each scheduler:
%% the one that makes the new code active sees it at once anyway.
round(Kind, N, Bin, Shared) ->
    _ = code:purge(?M),
    Prepared = erlang:prepare_loading(?M, Bin),
    Loader = spawn_opt(fun() -> receive {go, Ws} -> load_and_tell(Kind, N, Prepared, Shared, Ws) end end,
                       [{priority, max}]),
    Self = self(),
    Wait = fun() ->
                   Alias = prepare(Kind, Loader),
                   Old = ?M:f(),
                   Self ! {self(), {ready, Alias}},
                   wait(Kind, N, Shared, Loader),
                   Found = ?M:f(),
                   Self ! {self(), {Old, Found}}
           end,
    Waiters = [spawn_monitor(Wait) || _ <- lists:seq(1, max(2, erlang:system_info(schedulers)))],
    Addresses = [receive {W, {ready, Alias}} -> Alias end || {W, _} <- Waiters],
    leave_out_rereads(true),
    Loader ! {go, Addresses},
    Results = [receive
                   {W, {Old, N}} when Old =/= N -> ok;
                   {W, {Old, Other}} -> {expected, N, found, Other, before, Old};
                   {'DOWN', Ref, _, _, Why} -> {failed, Why}
               after 20000 -> {no_sign, N}
               end || {W, Ref} <- Waiters],
    leave_out_rereads(false),
    [erlang:demonitor(Ref, [flush]) || {_, Ref} <- Waiters],
    exit(Loader, kill),
    Results.

load_and_tell(Kind, N, Prepared, Shared, Waiters) ->
    ok = erlang:finish_loading([Prepared]),
    tell(Kind, N, Shared, Waiters).

%% How the loader may address the waiter.
prepare(link, Loader) -> process_flag(trap_exit, true), link(Loader), self();
prepare(monitor, Loader) -> erlang:monitor(process, Loader), self();
prepare(alias, _) -> alias();
prepare(_, _) -> self().

tell(Kind, N, _, Ws) when Kind =:= message; Kind =:= waited_message; Kind =:= alias ->
    [W ! {sign, N} || W <- Ws],
    idle();
tell(atomics, N, #{atomics := A}, _) -> atomics:put(A, 1, N), idle();
tell(counters, N, #{counters := C}, _) -> counters:put(C, 1, N), idle();
tell(persistent_term, N, _, _) -> persistent_term:put(?MODULE, N), idle();
tell(Kind, N, _, _) when Kind =:= name; Kind =:= send_to_name -> register(name(N), self()), idle();
tell(ets, N, #{ets := T}, _) -> ets:insert(T, {sign, N}), idle();
tell(Kind, _, _, _) when Kind =:= link; Kind =:= monitor; Kind =:= is_alive -> exit(sign);
tell(timer, N, _, Ws) -> [erlang:send_after(1, W, {sign, N}) || W <- Ws], idle();
tell(process_info, _, _, _) -> process_flag(trap_exit, true), idle();
tell(dictionary, N, _, _) -> put(sign, N), idle().

idle() -> receive stop -> ok end.
name(N) -> list_to_atom("code_causality_" ++ integer_to_list(N)).

wait(waited_message, N, _, _) -> receive {sign, N} -> ok end;
wait(Kind, N, Shared, Loader) -> wait(Kind, N, Shared, Loader, name(N)).

wait(Kind, N, Shared, Loader, Name) ->
    case seen(Kind, N, Shared, Loader, Name) of
        true -> ok;
        false -> wait(Kind, N, Shared, Loader, Name)
    end.

seen(Kind, N, _, _, _) when Kind =:= message; Kind =:= timer; Kind =:= alias ->
    receive {sign, N} -> true after 0 -> false end;
seen(link, _, _, Loader, _) -> receive {'EXIT', Loader, sign} -> true after 0 -> false end;
seen(monitor, _, _, Loader, _) -> receive {'DOWN', _, process, Loader, sign} -> true after 0 -> false end;
seen(atomics, N, #{atomics := A}, _, _) -> atomics:get(A, 1) =:= N;
seen(counters, N, #{counters := C}, _, _) -> counters:get(C, 1) =:= N;
seen(persistent_term, N, _, _, _) -> persistent_term:get(?MODULE, 0) =:= N;
seen(name, _, _, _, Name) -> whereis(Name) =/= undefined;
seen(send_to_name, _, _, _, Name) -> try Name ! sign, true catch error:badarg -> false end;
seen(ets, N, #{ets := T}, _, _) -> ets:lookup(T, sign) =:= [{sign, N}];
seen(is_alive, _, _, Loader, _) -> not is_process_alive(Loader);
seen(process_info, _, _, Loader, _) -> process_info(Loader, trap_exit) =:= {trap_exit, true};
seen(dictionary, N, _, Loader, _) ->
    {dictionary, D} = process_info(Loader, dictionary),
    lists:keyfind(sign, 1, D) =:= {sign, N}.
