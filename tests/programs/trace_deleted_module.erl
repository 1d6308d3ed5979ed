%% A function that no code defines any more kept its `global` breakpoint: its module was deleted, a new
%% version does not export it, or the version that would have was refused by its on_load function.
-module(trace_deleted_module).
-export([main/1]).

main(_) ->
    Tracee = spawn_link(fun tracee/0),
    1 = erlang:trace(Tracee, true, [call]),
    deleted(Tracee),
    not_exported(Tracee),
    refused(Tracee),
    deleted_while_called(Tracee),
    unlink(Tracee),
    exit(Tracee, kill).

deleted(Tracee) ->
    M = trace_deleted_module_1,
    load(M, "f(X) -> X.\ng(X) -> {X}.\n"),
    4 = erlang:trace_pattern({M, '_', '_'}, [{'_', [], [{return_trace}]}], [global]),
    show(set, call(Tracee, M, f)),
    true = code:delete(M),
    show(deleted, [call(Tracee, M, f), info(M, f)]),
    show(cleared, [erlang:trace_pattern({M, '_', '_'}, false, [global]), info(M, f)]),
    code:purge(M),
    show(purged, [call(Tracee, M, f), info(M, f)]),
    load(M, "f(X) -> X.\ng(X) -> {X}.\n"),
    show(loaded, [call(Tracee, M, f), info(M, f)]),
    4 = erlang:trace_pattern({M, '_', '_'}, true, [global]),
    true = code:delete(M),
    code:purge(M),
    load(M, "f(X) -> X.\ng(X) -> {X}.\n"),
    show(loaded_without_old_code, [call(Tracee, M, f), info(M, f)]),
    4 = erlang:trace_pattern({M, '_', '_'}, true, [global]),
    show(set, [call(Tracee, M, g), info(M, g)]).

not_exported(Tracee) ->
    M = trace_deleted_module_2,
    load(M, "f(X) -> X.\ng(X) -> {X}.\n"),
    1 = erlang:trace_pattern({M, g, 1}, true, [global]),
    show(set, call(Tracee, M, g)),
    load(M, "f(X) -> X.\n"),
    show(not_exported, [call(Tracee, M, g), info(M, g)]),
    show(cleared, erlang:trace_pattern({M, g, 1}, false, [global])),
    load(M, "f(X) -> X.\ng(X) -> {X}.\n"),
    show(exported, [call(Tracee, M, g), info(M, g)]),
    1 = erlang:trace_pattern({M, g, 1}, true, [global]),
    show(set, call(Tracee, M, g)).

refused(Tracee) ->
    M = trace_deleted_module_3,
    load(M, "f(X) -> X.\n"),
    3 = erlang:trace_pattern({M, '_', '_'}, true, [global]),
    code:purge(M),
    Refused = code:load_binary(M, "none", compiled(M, "-on_load(no/0).\nno() -> {error, no}.\nf(X) -> X.\ng(X) -> X.\n")),
    show(refused, [Refused, call(Tracee, M, g), info(M, g)]).

%% While others call it.
deleted_while_called(Tracee) ->
    M = trace_deleted_module_4,
    Callers = [spawn_link(fun() -> calls(M, 0) end) || _ <- [1, 2]],
    [begin
         load(M, "f(X) -> X.\ng(X) -> X.\n"),
         [1 = erlang:trace(C, true, [call, silent]) || C <- Callers],
         erlang:trace_pattern({M, '_', '_'}, true, [global]),
         erlang:trace_pattern({M, g, 1}, N rem 2 =:= 0, [global]),
         code:purge(M),
         true = code:delete(M),
         N rem 3 =:= 0 orelse erlang:trace_pattern({M, f, 1}, false, [global]),
         N rem 4 =:= 0 orelse code:purge(M)
     end || N <- lists:seq(1, 12)],
    [begin unlink(C), exit(C, kill) end || C <- Callers],
    show(deleted, [call(Tracee, M, f), info(M, f)]).

calls(M, N) ->
    catch M:f(N),
    catch M:g(N),
    calls(M, N + 1).

show(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).

info(M, F) ->
    [erlang:trace_info({M, F, 1}, Item) || Item <- [traced, match_spec, all]].

tracee() ->
    receive {call, From, M, F} ->
        From ! {result, try M:F(1) catch C:R -> {C, R} end}
    end,
    tracee().

%% What a call by the tracee gives, and what is traced of it.
call(Tracee, M, F) ->
    Tracee ! {call, self(), M, F},
    Result = receive {result, R} -> R end,
    Ref = erlang:trace_delivered(Tracee),
    receive {trace_delivered, Tracee, Ref} -> ok end,
    {Result, events(Tracee)}.

events(Tracee) ->
    receive E when element(2, E) =:= Tracee -> [erlang:delete_element(2, E) | events(Tracee)] after 0 -> [] end.

load(M, Functions) ->
    code:purge(M),
    {module, M} = code:load_binary(M, "none", compiled(M, Functions)).

compiled(M, Functions) ->
    Text = lists:concat(["-module(", M, ").\n-compile(export_all).\n", Functions]),
    {ok, M, Binary} = compile:forms(forms(Text), [nowarn_export_all]),
    Binary.

forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    forms(Tokens, [], []).
forms([{dot, _} = D | T], Form, Forms) ->
    {ok, F} = erl_parse:parse_form(lists:reverse([D | Form])),
    forms(T, [], [F | Forms]);
forms([X | T], Form, Forms) -> forms(T, [X | Form], Forms);
forms([], [], Forms) -> lists:reverse(Forms).
