%% A meta tracer that has ended is shown for a function until a call of that function finds out; it was gone from
%% all functions of the pattern as soon as one of them had been called.
-module(trace_dead_meta_tracer).
-export([main/1, f/1, g/1]).

main(_) ->
    Tracer = spawn(fun Loop() -> receive _ -> Loop() end end),
    erlang:trace_pattern({?MODULE, '_', '_'}, [{'_', [], [{return_trace}]}], [{meta, Tracer}]),
    show(Tracer),
    R = monitor(process, Tracer),
    exit(Tracer, kill),
    receive {'DOWN', R, _, _, _} -> ok end,
    show(Tracer),
    g(1),
    show(Tracer),
    f(1),
    show(Tracer),
    Self = self(),
    Other = spawn(fun() -> receive M -> Self ! M, receive stop -> ok end end end),
    [1 = erlang:trace_pattern({?MODULE, F, 1}, true, [{meta, Other}]) || F <- [f, g]],
    f(2),
    receive {trace_ts, _, call, {_, f, [2]}, _} -> io:format("told~n") end,
    show(Other),
    named_twice(Other).

%% The flag `meta` beside a named tracer names no other.
named_twice(Other) ->
    Self = self(),
    [begin
         [1 = erlang:trace_pattern({?MODULE, F, 1}, true, Flags) || F <- [f, g]],
         io:format("~p~n", [[case erlang:trace_info({?MODULE, F, 1}, meta) of
                                 {meta, Other} -> named;
                                 {meta, Self} -> caller
                             end || F <- [f, g]]])
     end || Flags <- [[{meta, Other}, meta], [meta, {meta, Other}], [meta]]].

show(Tracer) ->
    [io:format("~p ~p ~p~n", [F, shown(erlang:trace_info({?MODULE, F, 1}, meta), Tracer),
                              [shown(I, Tracer) || {meta, _} = I <- element(2, erlang:trace_info({?MODULE, F, 1}, all))]])
     || F <- [f, g]].

shown({meta, Tracer}, Tracer) -> tracer;
shown(Other, _) -> Other.

f(X) -> X.
g(X) -> X.
