%% Which modules a trace pattern is for: those there are, not those to come; and code that has become
%% old follows a change that clears.
-module(trace_modules).
-export([main/1]).

main(_) ->
    Tracee = spawn_link(fun tracee/0),
    1 = erlang:trace(Tracee, true, [call]),
    not_loaded(Tracee),
    wildcard(Tracee),
    old_code(Tracee),
    on_load(Tracee),
    Tracee ! stop.

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).

tracee() ->
    receive
        {call, From, F} -> From ! {result, F()}, tracee();
        stop -> ok
    end.
%% What a call by the tracee gives, and what is traced of it.
call(Tracee, F) ->
    Tracee ! {call, self(), F},
    R = receive {result, V} -> V end,
    {R, traced(Tracee)}.
traced(Tracee) ->
    Ref = erlang:trace_delivered(Tracee),
    traced(Tracee, Ref).
traced(Tracee, Ref) ->
    receive
        {trace, Tracee, call, MFA} -> [MFA | traced(Tracee, Ref)];
        {trace_delivered, Tracee, Ref} -> []
    end.

load(M, N) ->
    {ok, M, Bin} =
        compile:forms(forms(lists:flatten(io_lib:format(
            "-module(~w).\n-export([f/0,g/0,loop/1]).\nf() -> ~w.\ng() -> f() + 1.\n"
            "loop(P) -> P ! {self(), local()}, receive go -> loop(P); stop -> ok end.\n"
            "local() -> ~w.\n", [M, N, N])))),
    code:purge(M),
    {module, M} = code:load_binary(M, "none", Bin).
forms(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    forms(Tokens, [], []).
forms([{dot, _} = D | T], Form, Forms) ->
    {ok, F} = erl_parse:parse_form(lists:reverse([D | Form])),
    forms(T, [], [F | Forms]);
forms([X | T], Form, Forms) -> forms(T, [X | Form], Forms);
forms([], [], Forms) -> lists:reverse(Forms).
unload(M) -> code:delete(M), code:purge(M).

%% A pattern for a module that is not loaded is for nothing.
not_loaded(Tracee) ->
    p(count, erlang:trace_pattern({tm_a, '_', '_'}, true, [local])),
    load(tm_a, 1),
    p(later, call(Tracee, fun() -> tm_a:g() end)),
    p(info, erlang:trace_info({tm_a, g, 0}, traced)),
    unload(tm_a).

%% All modules are all that are loaded.
wildcard(Tracee) ->
    erlang:trace_pattern({'_', '_', '_'}, true, [local]),
    load(tm_b, 1),
    p(wildcard, [M || {M, _, _} = _MFA <- element(2, call(Tracee, fun() -> tm_b:g() end)),
                      M =:= tm_b]),
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    call(Tracee, fun() -> ok end),      % what it did between its answer and now was traced
    p(cleared, call(Tracee, fun() -> tm_b:g() end)),
    unload(tm_b).

%% A process in old code.
old_code(Tracee) ->
    load(tm_c, 1),
    Self = self(),
    In = spawn_link(fun() -> tm_c:loop(Self) end),
    receive {In, N1} -> p(before, N1) end,
    1 = erlang:trace(In, true, [call]),
    erlang:trace_pattern({tm_c, local, 0}, true, [local]),
    In ! go,
    receive {In, N2} -> p(current, N2) end,
    p(current, traced(In)),
    load(tm_c, 2),
    p(pattern, erlang:trace_pattern({tm_c, '_', '_'}, false, [local])),
    In ! go,
    receive {In, N3} -> p(old, N3) end,
    p(old, traced(In)),
    p(new, call(Tracee, fun() -> tm_c:g() end)),
    In ! stop,
    unload(tm_c).

%% A pattern for modules to come.
on_load(Tracee) ->
    p(set, erlang:trace_pattern(on_load, true, [local])),
    load(tm_d, 1),
    p(loaded, call(Tracee, fun() -> tm_d:g() end)),
    p(info, erlang:trace_info({tm_d, g, 0}, all)),
    load(tm_d, 2),
    p(reloaded, call(Tracee, fun() -> tm_d:g() end)),
    p(off, erlang:trace_pattern(on_load, false, [local])),
    load(tm_e, 1),
    p(untraced, call(Tracee, fun() -> tm_e:g() end)),
    erlang:trace_pattern({tm_d, '_', '_'}, false, [local]),
    unload(tm_d),
    unload(tm_e).
