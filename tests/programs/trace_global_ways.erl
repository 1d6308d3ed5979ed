%% All ways to come by an export entry with a `global` breakpoint, from and to code of either engine: two modules
%% of the same functions, each of which calls the other.
-module(trace_global_ways).
-export([main/1]).

-define(MODULES, [trace_global_ways_interp, trace_global_ways_jit]).

main(_) ->
    [load(M, E, O) || {M, E, O} <- lists:zip3(?MODULES, [interp, jit], lists:reverse(?MODULES))],
    Specs = [true, [{'_', [], [{return_trace}]}], [{'_', [], [{message, {caller}}, {exception_trace}]}],
             [{[1, '_'], [], []}], [{['_', '_'], [], [{exception_trace}]}, {'_', [], [{message, false}]}]],
    [ways(Spec, Flags) || Spec <- Specs, Flags <- [[], [return_to], [arity]]],
    counted(),
    both_ways(),
    loaded_while_it_runs().

ways(Spec, Flags) ->
    io:format("~p ~p~n", [Spec, Flags]),
    traced(Spec, Flags, fun(M) -> [run(M, Way) || Way <- ways()] end).

ways() ->
    [call, tail, apply, apply_last, apply_list, apply_list_last, external_fun, external_fun_last, trapped, mapped, deep, raises,
     undefined, not_there, spawned, hibernated, alternating].

run(M, Way) ->
    self() ! {ran, Way, try M:Way(a, hd([f])) catch C:R -> {C, R} end},
    receive {ran, Way, Result} -> Result end.

traced(Spec, Flags, Work) ->
    Self = self(),
    [5 = erlang:trace_pattern({M, F, '_'}, Spec, [global]) + erlang:trace_pattern({M, g, '_'}, Spec, [global])
         + erlang:trace_pattern({M, h, 1}, Spec, [global]) || M <- ?MODULES, F <- [f]],
    Tracee = spawn(fun() ->
                           receive go -> ok end,
                           Self ! {self(), [{M, Work(M)} || M <- ?MODULES]},
                           receive stop -> ok end
                   end),
    1 = erlang:trace(Tracee, true, [call, set_on_spawn | Flags]),
    Tracee ! go,
    Results = receive {Tracee, R} -> R end,
    [io:format("  ~p: ~p~n", [M, Got]) || {M, Got} <- Results],
    Ref = erlang:trace_delivered(all),
    receive {trace_delivered, all, Ref} -> ok end,
    Events = events(),
    %% Those of processes that it has made stand apart: nothing says when they run.
    [io:format("    ~p~n", [setelement(2, E, tracee)]) || E <- Events, element(2, E) =:= Tracee],
    [io:format("    ~p~n", [E]) || E <- lists:sort([setelement(2, E, other) || E <- Events, element(2, E) =/= Tracee])],
    exit(Tracee, kill),
    [erlang:trace_pattern({M, '_', '_'}, false, [global]) || M <- ?MODULES].

events() ->
    receive E when element(1, E) =:= trace -> [E | events()] after 0 -> [] end.

%% A function with a breakpoint of its own besides: a global pattern takes its place, and it that of a global one.
both_ways() ->
    [begin
         erlang:trace_pattern({M, f, 2}, true, [local]),
         erlang:trace_pattern({M, f, 2}, true, [global]),
         io:format("~p~n", [erlang:trace_info({M, f, 2}, traced)]),
         erlang:trace_pattern({M, f, 2}, true, [call_count]),
         io:format("~p~n", [[erlang:trace_info({M, f, 2}, I) || I <- [traced, call_count]]]),
         erlang:trace_pattern({M, f, 2}, false, [global]),
         erlang:trace_pattern({M, f, 2}, false, [local])
     end || M <- ?MODULES].

%% Other breakpoints that act on all processes, beside an entry of one that is not traced.
counted() ->
    [A, B] = ?MODULES,
    erlang:trace_pattern({A, f, 2}, true, [global]),
    erlang:trace_pattern({B, f, 2}, true, [call_count]),
    [run(M, Way) || M <- ?MODULES, Way <- ways()],
    io:format("~p~n", [[erlang:trace_info({M, f, 2}, I) || M <- ?MODULES, I <- [traced, call_count]]]),
    erlang:trace_pattern({A, f, 2}, false, [global]),
    erlang:trace_pattern({B, f, 2}, false, [call_count]).

%% Each version is traced, by the pattern from before it: whoever calls what it has just loaded is told of it.
loaded_while_it_runs() ->
    Self = self(),
    [A, B] = ?MODULES,
    Tracee = spawn_link(fun() ->
                                receive go -> ok end,
                                [begin load(A, E, B), A:call(1, f) end || E <- [jit, interp, jit, interp]],
                                Self ! done,
                                receive stop -> ok end
                        end),
    1 = erlang:trace(Tracee, true, [call]),
    4 = erlang:trace_pattern({B, f, '_'}, true, [global]) + erlang:trace_pattern({B, g, '_'}, true, [global]),
    Tracee ! go,
    receive done -> ok end,
    Ref = erlang:trace_delivered(Tracee),
    receive {trace_delivered, Tracee, Ref} -> ok end,
    [io:format("    ~p~n", [setelement(2, E, tracee)]) || E <- events()],
    erlang:trace_pattern({B, '_', '_'}, false, [global]).

load(M, Engine, Other) ->
    Source = ["-module(", atom_to_list(M), ").\n-engine(", atom_to_list(Engine), ").\n-compile([export_all, nowarn_export_all]).\n",
              lists:flatten(string:replace(text(), "OTHER", atom_to_list(Other), all))],
    code:purge(M),
    {module, M} = code:load_binary(M, "none", compiled(lists:flatten(Source))).
compiled(Text) ->
    {ok, Tokens, _} = erl_scan:string(Text),
    {ok, _, Code} = compile:forms(forms(Tokens), []),
    Code.
forms([]) -> [];
forms(Tokens) ->
    {Form, [Dot | Rest]} = lists:splitwith(fun(T) -> element(1, T) =/= dot end, Tokens),
    {ok, F} = erl_parse:parse_form(Form ++ [Dot]),
    [F | forms(Rest)].

text() ->
    "f(A, _) -> {f, A}.\n"
    "f(A, N, L) when N > 0 -> g(A, N - 1, L);\n"
    "f(_, 0, L) -> L.\n"
    "g(A, N, L) -> OTHER:f(A, N, [N | L]).\n"
    "g(1, _) -> one;\n"
    "g(_, X) -> error({bad, X}).\n"
    "h(X) -> X.\n"
    "call(A, F) -> {call, OTHER:f(A, F)}.\n"
    "tail(A, F) -> OTHER:f(A, F).\n"
    "apply(A, F) -> {OTHER:F(A, 1)}.\n"
    "apply_last(A, F) -> OTHER:F(A, 1).\n"
    "apply_list(A, F) -> {erlang:apply('OTHER', F, [A | hd([[F]])])}.\n"
    "apply_list_last(A, F) -> erlang:apply('OTHER', F, [A | hd([[F]])]).\n"
    "external_fun(A, F) -> E = fun OTHER:F/2, {E(A, F)}.\n"
    "external_fun_last(A, F) -> E = hd([fun OTHER:f/2]), E(A, F).\n"
    "trapped(A, F) -> E = hd([fun erlang:apply/3]), {E('OTHER', F, [A, F])}.\n"
    "mapped(_, _) -> lists:map(fun OTHER:h/1, [1, 2]).\n"
    "deep(A, _) -> length(OTHER:f(A, 12, [])).\n"
    "raises(A, _) -> {catch OTHER:g(A, x), try OTHER:g(1, x) of R -> R catch _:_ -> no end}.\n"
    "undefined(A, _) -> try OTHER:no(A) catch E:R -> {E, R} end.\n"
    "not_there(A, _) -> try trace_global_ways_none:f(A) catch E:R -> {E, R} end.\n"
    "spawned(_, F) -> {P, M} = spawn_monitor(OTHER, F, [1, 2]), receive {'DOWN', M, process, P, R} -> R end.\n"
    "hibernated(_, F) -> {P, M} = spawn_monitor(erlang, hibernate, [OTHER, F, [1, 2]]), P ! x,"
    "    receive {'DOWN', M, process, P, R} -> R end.\n"
    "alternating(A, _) -> {OTHER:f(A, 3, []), f(A, 2, [])}.\n".
