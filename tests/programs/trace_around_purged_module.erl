%% Breakpoints in all functions, where the code of a purged module lay between that of others: its pages are gone.
-module(trace_around_purged_module).
-export([main/1]).

-define(MODULES, [trace_around_purged_module_1, trace_around_purged_module_2, trace_around_purged_module_3,
                  trace_around_purged_module_4, trace_around_purged_module_5]).

main(_) ->
    Compiled = [{M, compiled(M)} || M <- ?MODULES],
    [{module, M} = code:load_binary(M, "none", Beam) || {M, Beam} <- Compiled],
    [begin true = code:delete(M), code:purge(M) end || M <- [lists:nth(2, ?MODULES), lists:nth(4, ?MODULES)]],
    Tracee = spawn_link(fun tracee/0),
    1 = erlang:trace(Tracee, true, [call]),
    [begin
         true = erlang:trace_pattern({'_', '_', '_'}, true, [local]) > 0,
         show(armed, Tracee),
         true = erlang:trace_pattern({'_', '_', '_'}, false, [local]) > 0,
         show(disarmed, Tracee)
     end || _ <- [1, 2]].

tracee() ->
    receive
        {From, M, F} ->
            Result = (catch M:F(x)),
            From ! {self(), case Result of {'EXIT', {undef, _}} -> undef; _ -> Result end},
            tracee()
    end.

show(What, Tracee) ->
    [begin
         Tracee ! {self(), M, F},
         receive {Tracee, Result} -> ok end,
         Ref = erlang:trace_delivered(Tracee),
         receive {trace_delivered, Tracee, Ref} -> ok end,
         io:format("~p ~p ~p ~p ~p~n", [What, M, F, Result, calls(M)])
     end || M <- ?MODULES, F <- [f1, f100]].

%% Of functions of M only.
calls(M) ->
    receive
        {trace, _, call, {M, _, _} = Call} -> [Call | calls(M)];
        {trace, _, call, _} -> calls(M)
    after 0 -> []
    end.

%% Some pages of code.
compiled(M) ->
    Forms = [form("-module(~p).~n", [M]), form("-compile(export_all).~n", [])
             | [form("f~p(X) -> [{X, ~p, [X | ~p]}, {g, X, {X, X}}].~n", [N, N, N]) || N <- lists:seq(1, 200)]],
    {ok, M, Beam} = compile:forms(Forms, [nowarn_export_all]),
    Beam.

form(Format, Arguments) ->
    {ok, Tokens, _} = erl_scan:string(lists:flatten(io_lib:format(Format, Arguments))),
    {ok, Form} = erl_parse:parse_form(Tokens),
    Form.
