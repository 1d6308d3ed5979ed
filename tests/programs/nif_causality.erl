%% Who learns of new code through a native function sees it: as code_causality, which has the other ways.
%% Argument: versions.
-module(nif_causality).
-export([main/1, tell/1, told/0]).
-nifs([tell/1, told/0]).

-define(M, nif_causality_m).

main([]) -> main(["8"]);
main([Versions]) ->
    logger:set_primary_config(level, none),
    ok = erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), ?MODULE), 0),
    {module, ?M} = code:load_binary(?M, "m", version(0)),
    Results = lists:append([one_round(N) || N <- lists:seq(1, list_to_integer(Versions))]),
    io:format("nif: ~0tp~n", [case [R || R <- Results, R =/= ok] of [] -> ok; Bad -> Bad end]).

tell(_) -> erlang:nif_error(not_loaded).
told() -> erlang:nif_error(not_loaded).

%% Where the VM was started so that it does, to show that this test can fail.
leave_out_rereads(Yes) ->
    _ = erlang:function_exported(minivm, leave_out_rereads, 1) andalso minivm:leave_out_rereads(Yes).

version(N) ->
    Line = erl_anno:new(1),
    {ok, ?M, Bin} = compile:forms([{attribute, Line, module, ?M}, {attribute, Line, export, [{f, 0}]},
                                   {function, Line, f, 0, [{clause, Line, [], [], [{integer, Line, N}]}]}]),
    Bin.

one_round(N) ->
    _ = code:purge(?M),
    Prepared = erlang:prepare_loading(?M, version(N)),
    Self = self(),
    Waiters = [spawn_monitor(fun() -> Self ! {self(), ready}, wait(N), Self ! {self(), ?M:f()} end)
               || _ <- lists:seq(1, max(2, erlang:system_info(schedulers)))],
    [receive {W, ready} -> ok end || {W, _} <- Waiters],
    leave_out_rereads(true),
    spawn_opt(fun() -> ok = erlang:finish_loading([Prepared]), tell(N) end, [{priority, max}]),
    Results = [receive
                   {W, N} -> ok;
                   {W, Other} -> {expected, N, found, Other};
                   {'DOWN', Ref, _, _, Why} -> {failed, Why}
               after 20000 -> {no_sign, N}
               end || {W, Ref} <- Waiters],
    leave_out_rereads(false),
    [erlang:demonitor(Ref, [flush]) || {_, Ref} <- Waiters],
    Results.

wait(N) ->
    case told() of
        N -> ok;
        _ -> wait(N)
    end.
