%% Whoever learns of new code sees the new code, however it learns of it: a message, atomics, counters, a
%% persistent term, a name, an ETS table, a link, a monitor, a timer, what process_info tells. The loader
%% loads version N and then gives the sign; the other one waits for the sign and calls.
-module(code_causality).
-export([main/1]).

-define(M, code_causality_m).
-define(VERSIONS, 12).

main(_) ->
    logger:set_primary_config(level, none),
    Bins = list_to_tuple([version(N) || N <- lists:seq(1, ?VERSIONS)]),
    Kinds = [message, atomics, counters, persistent_term, name, ets, link, monitor, timer, process_info,
             dictionary, alias, is_alive],
    [io:format("~w: ~0tp~n", [K, kind(K, Bins)]) || K <- Kinds].

version(N) ->
    Line = erl_anno:new(1),
    {ok, ?M, Bin} = compile:forms([{attribute, Line, module, ?M}, {attribute, Line, export, [{f, 0}]},
                                   {function, Line, f, 0, [{clause, Line, [], [], [{integer, Line, N}]}]}]),
    Bin.

kind(Kind, Bins) ->
    Shared = #{atomics => atomics:new(1, []), counters => counters:new(1, []),
               ets => ets:new(t, [public])},
    Results = [round(Kind, N, element(N, Bins), Shared) || N <- lists:seq(1, ?VERSIONS)],
    persistent_term:erase(?MODULE),
    case [R || R <- Results, R =/= ok] of
        [] -> ok;
        Bad -> Bad
    end.

%% The waiter is in its loop, and has called the version before, when the new one is loaded.
round(Kind, N, Bin, Shared) ->
    Self = self(),
    Loader = spawn(fun() -> receive {W, ready} -> load_and_tell(Kind, N, Bin, Shared, W) end end),
    {Waiter, Ref} = spawn_monitor(
                      fun() ->
                              _ = N > 1 andalso ?M:f(),
                              prepare(Kind, Loader),
                              Loader ! {self(), ready},
                              wait(Kind, N, Shared, Loader),
                              Found = ?M:f(),
                              Self ! {self(), Found}
                      end),
    Result = receive
                 {Waiter, N} -> ok;
                 {Waiter, Other} -> {expected, N, found, Other}
             after 20000 -> {no_sign, N}
             end,
    erlang:demonitor(Ref, [flush]),
    exit(Loader, kill),
    Result.

load_and_tell(Kind, N, Bin, Shared, Waiter) ->
    Prepared = erlang:prepare_loading(?M, Bin),
    _ = code:purge(?M),
    ok = erlang:finish_loading([Prepared]),
    tell(Kind, N, Shared, Waiter).

prepare(link, Loader) -> process_flag(trap_exit, true), link(Loader);
prepare(monitor, Loader) -> erlang:monitor(process, Loader);
prepare(alias, Loader) -> Loader ! {alias, alias()};
prepare(_, _) -> ok.

tell(message, N, _, W) -> W ! {sign, N}, idle();
tell(atomics, N, #{atomics := A}, _) -> atomics:put(A, 1, N), idle();
tell(counters, N, #{counters := C}, _) -> counters:put(C, 1, N), idle();
tell(persistent_term, N, _, _) -> persistent_term:put(?MODULE, N), idle();
tell(name, N, _, _) -> register(name(N), self()), idle();
tell(ets, N, #{ets := T}, _) -> ets:insert(T, {sign, N}), idle();
tell(link, _, _, _) -> exit(sign);
tell(monitor, _, _, _) -> exit(sign);
tell(is_alive, _, _, _) -> exit(sign);
tell(timer, N, _, W) -> erlang:send_after(1, W, {sign, N}), idle();
tell(process_info, _, _, _) -> process_flag(trap_exit, true), idle();
tell(dictionary, N, _, _) -> put(sign, N), idle();
tell(alias, N, _, _) -> receive {alias, A} -> A ! {sign, N}, idle() end.

idle() -> receive stop -> ok end.
name(N) -> list_to_atom("code_causality_" ++ integer_to_list(N)).

wait(Kind, N, _, _) when Kind =:= message; Kind =:= timer; Kind =:= alias ->
    receive {sign, N} -> ok end;
wait(link, _, _, Loader) -> receive {'EXIT', Loader, sign} -> ok end;
wait(monitor, _, _, Loader) -> receive {'DOWN', _, process, Loader, sign} -> ok end;
wait(Kind, N, Shared, Loader) ->
    Seen = case Kind of
               atomics -> atomics:get(maps:get(atomics, Shared), 1) =:= N;
               counters -> counters:get(maps:get(counters, Shared), 1) =:= N;
               persistent_term -> persistent_term:get(?MODULE, 0) =:= N;
               name -> whereis(name(N)) =/= undefined;
               ets -> ets:lookup(maps:get(ets, Shared), sign) =:= [{sign, N}];
               is_alive -> not is_process_alive(Loader);
               process_info -> process_info(Loader, trap_exit) =:= {trap_exit, true};
               dictionary -> {dictionary, D} = process_info(Loader, dictionary),
                             lists:keyfind(sign, 1, D) =:= {sign, N}
           end,
    Seen orelse wait(Kind, N, Shared, Loader).
