%% Who is suspended on its way into a fun whose code is purged meanwhile finds the fun gone when it goes on, whatever
%% runs the caller and whatever ran the fun.
-module(code_purge_suspended_caller).
-export([main/1]).

-define(CALLERS, 12).

main(_) ->
    logger:set_primary_config(level, none),
    process_flag(trap_exit, true),
    Engines = ["interp", "jit"],
    io:format("~p~n", [[purged_under(load(caller(A)), load(called(B)), Local)
                        || A <- Engines, B <- Engines, Local <- [true, false]]]).

purged_under(Caller, M, Local) ->
    F = case Local of true -> M:f(); false -> fun M:g/0 end,
    Pids = [spawn_link(Caller, loop, [F, N]) || N <- lists:seq(1, ?CALLERS)],
    timer:sleep(2),
    [true = erlang:suspend_process(P) || P <- Pids],
    true = erlang:delete_module(M),
    _ = code:purge(M),
    timer:sleep(20), % for its memory to be given back
    [catch erlang:resume_process(P) || P <- Pids],
    [receive {'EXIT', P, Why} -> Why end || P <- Pids] -- [W || _ <- Pids, W <- [killed, undef]].

caller(Engine) ->
    ["-module(code_purge_caller_", Engine, "). -engine(", Engine, "). -export([loop/2]). ",
     %% Slices end at calls: with some calls less before, at another one.
     "loop(F, 0) -> loop(F); loop(F, N) -> loop(F, N - 1). ",
     "loop(F) -> try F() of 1 -> loop(F) catch error:R -> exit(R) end. "].

called(Engine) ->
    ["-module(code_purge_called_", Engine, "). -engine(", Engine, "). -export([f/0, g/0]). ",
     "f() -> fun() -> 1 end. g() -> 1. "].

load(Text) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
    {ok, M, Bin} = compile:forms(forms(Tokens, [])),
    {module, M} = code:load_binary(M, "nofile", Bin),
    M.

forms([], []) -> [];
forms([{dot, _} = Dot | Rest], Form) ->
    {ok, Parsed} = erl_parse:parse_form(lists:reverse([Dot | Form])),
    [Parsed | forms(Rest, [])];
forms([T | Rest], Form) -> forms(Rest, [T | Form]).
