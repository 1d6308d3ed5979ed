%% erts_debug:breakpoint/2, which OTP's debugger stands on: a call of the function goes to breakpoint/3 of the error
%% handler instead, whoever calls it and however; traces of the same function come and go beside it.
-module(debug_breakpoint).
-export([main/1, breakpoint/3, undefined_function/3, shown/2, other/1, twice/1, again/1]).

breakpoint(M, F, Args) ->
    put(diverted, get(diverted) + 1),
    {diverted, M, F, length(Args), erlang:md5(term_to_binary(Args))}.

undefined_function(M, F, Args) -> error_handler:undefined_function(M, F, Args).

shown(A, B) -> {not_diverted, A, B}.
other(X) -> {other, X}.
twice(X) -> [shown(X, 1), shown(X, 2)].
again(0) -> shown(last, call);
again(N) -> again(N - 1).
local(X) -> {local, X}.

calls() ->
    F = fun shown/2,
    G = fun ?MODULE:shown/2,
    [shown(1, "text"), ?MODULE:shown({a, 2}, <<"binary">>), F(1, 2), G(1, 2), apply(?MODULE, shown, [1, 2]),
     (id(?MODULE)):shown(1.5, 1 bsl 80), twice(x), again(5), lists:map(fun other/1, [1]), local(1),
     [shown(N, lists:seq(1, N)) || N <- lists:seq(1, 200)] =:= [],
     try shown(1, 2) after put(after_it, done) end].

id(X) -> X.

show(What) ->
    put(diverted, 0),
    R = try calls() catch C:E:S -> {C, E, [{M, F, if is_list(A) -> length(A); true -> A end} || {M, F, A, _} <- S, M =:= ?MODULE]} end,
    io:format("~s: ~p diverted~n~p~n", [What, get(diverted), R]).

in_other(F) ->
    {Pid, Ref} = spawn_monitor(F),
    receive {'DOWN', Ref, process, Pid, Reason} -> Reason end.

traced(Pid, Flags) ->
    erlang:trace(Pid, true, Flags),
    R = ?MODULE:shown(traced, 1),
    erlang:trace(Pid, false, Flags),
    R.

main(_) ->
    process_flag(error_handler, ?MODULE),
    show("none"),
    MFA = {?MODULE, shown, 2},
    io:format("~p~n", [erts_debug:breakpoint(MFA, true)]),
    show("one"),
    io:format("~p~n", [erts_debug:breakpoint({?MODULE, local, '_'}, true)]),
    show("two"),
    io:format("~p~n", [erts_debug:breakpoint({?MODULE, local, 1}, false)]),
    %% Traces of the same function.
    Self = self(),
    Tracer = spawn(fun() -> tracer(Self) end),
    erlang:trace_pattern(MFA, [{'_', [], [{return_trace}]}], [local]),
    traced(Self, [call, {tracer, Tracer}]),
    Delivered = erlang:trace_delivered(Self),
    receive {trace_delivered, Self, Delivered} -> ok end,
    Tracer ! {stop, Self},
    receive stopped -> ok end,
    erlang:trace_pattern(MFA, true, [call_count]),
    show("counted"),
    io:format("~p ~p~n", [erlang:trace_info(MFA, call_count) =/= {call_count, 0}, erlang:trace_info(MFA, traced)]),
    erlang:trace_pattern(MFA, false, [local, call_count]),
    show("traces gone"),
    erlang:trace_pattern(MFA, true, [global]),
    show("global"),
    erlang:trace_pattern(MFA, false, [global]),
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    show("global gone"),
    %% Others: a process that begins with it, and one whose handler has no such function.
    io:format("~p~n", [in_other(fun() -> process_flag(error_handler, ?MODULE), put(diverted, 0), exit(shown(1, 2)) end)]),
    io:format("~p~n", [in_other(fun() ->
        process_flag(error_handler, lists),
        exit(try shown(1, 2) catch error:E -> E end)
    end)]),
    io:format("~p~n", [erts_debug:breakpoint(MFA, false)]),
    show("cleared"),
    [io:format("~p ~p~n", [A, try erts_debug:breakpoint(A, B) catch error:E -> E end])
     || {A, B} <- [{{no_module, f, 1}, true}, {{?MODULE, no_function, 1}, true}, {{?MODULE, shown, 3}, true},
                   {MFA, yes}, {{'_', shown, 2}, true}, {{?MODULE, '_', 2}, true}, {{?MODULE, shown, a}, true},
                   {{"x", shown, 2}, true}, {[], true}, {{?MODULE, shown}, true}, {{?MODULE, shown, 2.0}, false},
                   {{?MODULE, shown, -1}, true}, {{lists, '_', '_'}, no}]],
    %% All of a module.
    queue:new(),
    io:format("~p~n", [erts_debug:breakpoint({queue, '_', '_'}, true) > 30]),
    put(diverted, 0),
    io:format("~p ~p~n", [element(1, queue:new()), get(diverted)]),
    io:format("~p~n", [erts_debug:breakpoint({queue, '_', '_'}, false) > 30]),
    io:format("~p~n", [queue:new()]).

tracer(Main) ->
    receive
        {stop, Main} -> Main ! stopped;
        Event -> io:format("event ~p~n", [setelement(2, Event, pid)]), tracer(Main)
    end.
