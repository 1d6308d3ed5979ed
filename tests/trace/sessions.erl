%% Sessions of tracing (OTP 27's module `trace`): what they answer and what their tracers get. What it
%% prints on OTP 27 is kept in sessions.expected; session_test.py compares.
-module(sessions).
-export([main/1, f/1, g/1, h/1, thrower/1, tail/2, tracer_loop/1, traced_loop/0]).

main(["reloaded"]) -> reloaded();
main(["purged", Rounds]) -> purged(list_to_integer(Rounds));
main(["stress", Seconds]) -> stress(list_to_integer(Seconds));
main(_) ->
    lists:foreach(fun({Name, F}) ->
                          io:format("== ~s~n", [Name]),
                          %% In a process of its own: its sessions end with it.
                          {_, Ref} = spawn_monitor(F),
                          receive {'DOWN', Ref, _, _, normal} -> ok;
                                  {'DOWN', Ref, _, _, Why} -> io:format("~p~n", [Why])
                          end,
                          no_sessions(100)
                  end,
                  [{"two sessions on one function", fun two/0},
                   {"order of events and returns", fun order/0},
                   {"exceptions", fun exceptions/0},
                   {"tail calls", fun tail_calls/0},
                   {"functions of the VM", fun bifs/0},
                   {"meta traces", fun meta/0},
                   {"counters", fun counters/0},
                   {"global calls", fun global/0},
                   {"patterns for messages", fun messages/0},
                   {"actions", fun actions/0},
                   {"spawned processes", fun spawned/0},
                   {"new processes", fun new/0},
                   {"modules to come", fun to_come/0},
                   {"a tracer that ends", fun dead_tracer/0},
                   {"beside erlang:trace/3", fun legacy/0},
                   {"bad arguments", fun bad/0},
                   {"what there is", fun infos/0},
                   {"destroyed", fun destroyed/0},
                   {"handles", fun handles/0},
                   {"without a tracer", fun no_tracer/0}]).

%% ---- what is traced -----------------------------------------------------------------------------

f(X) -> g(X) + 1.
g(X) -> X * 2.
h(X) -> atom_to_list(X).
thrower(X) -> catch f(X), throw(X).
tail(0, X) -> X;
tail(N, X) -> tail(N - 1, X).

traced() -> named(traced, spawn(?MODULE, traced_loop, [])).
traced_loop() ->
    receive
        {call, From, F, Args} -> From ! {done, catch apply(?MODULE, F, Args)};
        {spawn, From, Link} ->
            Child = case Link of
                        link -> spawn_link(?MODULE, traced_loop, []);
                        none -> spawn(?MODULE, traced_loop, [])
                    end,
            From ! {done, Child};
        {send, From, To, What} -> To ! What, From ! {done, sent};
        _ -> ok
    end,
    traced_loop().
call(P, F, Args) -> P ! {call, self(), F, Args}, done().
done() -> receive {done, R} -> R end.

%% ---- tracers ------------------------------------------------------------------------------------

tracer(Name) -> named(Name, spawn(?MODULE, tracer_loop, [[]])).
tracer_loop(Got) ->
    receive
        {fetch, From} -> From ! {got, lists:reverse(Got)}, tracer_loop([]);
        M -> tracer_loop([M | Got])
    end.
%% What it got of what P did.
events(Session, Tracer, P) ->
    Ref = trace:delivered(Session, P),
    receive {trace_delivered, P, Ref} -> ok end,
    Tracer ! {fetch, self()},
    receive {got, Events} -> [show(E) || E <- Events] end.

%% ---- terms that are the same each time -----------------------------------------------------------

named(Name, Pid) -> put({name, Pid}, Name), Pid.
show(T) when is_tuple(T), element(1, T) =:= trace_ts ->
    L = tuple_to_list(T),
    list_to_tuple([show(E) || E <- lists:droplast(L)] ++ [stamp(lists:last(L))]);
show(P) when is_pid(P), P =:= self() -> self;
show(P) when is_pid(P) -> case get({name, P}) of undefined -> pid; Name -> Name end;
show(R) when is_reference(R) -> ref;
show(F) when is_function(F) -> a_fun;
show(T) when is_tuple(T) -> list_to_tuple([show(E) || E <- tuple_to_list(T)]);
show([H | T]) -> [show(H) | show(T)];
show(T) -> T.
stamp(Shown) when is_atom(Shown) -> Shown;
stamp({A, B, C}) when is_integer(A), is_integer(B), is_integer(C) -> now;
stamp({A, B}) when is_integer(A), is_integer(B) -> strict;
stamp(A) when is_integer(A) -> monotonic.

out(T) -> io:format("~p~n", [show(T)]).
try_it(F) -> try F() catch C:R -> {C, R} end.
%% Names of sessions; their numbers depend on what was before.
names(L) when is_list(L) -> [element(1, W) || W <- L];
names(Other) -> Other.
flags(S, P) -> {flags, L} = trace:info(S, P, flags), lists:sort(L).

no_sessions(0) -> io:format("sessions are left: ~p~n", [names(trace:session_info(all))]);
no_sessions(N) ->
    case trace:session_info(all) of
        [{legacy, default}] -> ok;
        _ -> erlang:garbage_collect(), timer:sleep(20), no_sessions(N - 1)
    end.

%% ---- scenarios ----------------------------------------------------------------------------------

-define(RETURNS, [{'_', [], [{return_trace}]}]).

two() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [call, send]),
    1 = trace:process(B, P, true, [call, arity, timestamp, 'receive']),
    1 = trace:function(A, {?MODULE, f, 1}, ?RETURNS, [local]),
    1 = trace:function(B, {?MODULE, f, 1},
                       [{['$1'], [{'>', '$1', 5}], [{message, '$1'}, {exception_trace}]}], [local]),
    out([call(P, f, [X]) || X <- [3, 30]]),
    out(events(A, T1, P)), out(events(B, T2, P)),
    out([trace:info(S, {?MODULE, f, 1}, I) || S <- [A, B], I <- [traced, match_spec]]),
    out(erlang:trace_info({?MODULE, f, 1}, traced)),
    %% One gives up the function, the other keeps it.
    1 = trace:function(A, {?MODULE, f, 1}, false, [local]),
    out(call(P, f, [7])),
    out(events(A, T1, P)), out(events(B, T2, P)),
    1 = trace:process(B, P, false, [call]),
    out(call(P, f, [8])),
    out(events(A, T1, P)), out(events(B, T2, P)),
    out({flags(A, P), flags(B, P)}),
    trace:session_destroy(A), trace:session_destroy(B).

order() ->
    T = tracer(t), P = traced(),
    A = trace:session_create(a, T, []), B = trace:session_create(b, T, []),
    1 = trace:process(B, P, true, [call, arity, return_to, procs]),
    1 = trace:process(A, P, true, [call, return_to, procs, strict_monotonic_timestamp]),
    [3 = trace:function(S, {?MODULE, F, 1}, ?RETURNS, [local]) + 2 || S <- [B, A], F <- [f, g]],
    1 = trace:function(A, {?MODULE, f, 1}, ?RETURNS, [meta]),
    out(call(P, f, [3])),
    [out(E) || E <- events(A, T, P)],
    register(some_name, P), unregister(some_name), link(P), unlink(P),
    [out(E) || E <- events(A, T, P)],
    exit(P, kill),
    M = erlang:monitor(process, P), receive {'DOWN', M, _, _, _} -> ok end,
    [out(E) || E <- events(A, T, P)],
    trace:session_destroy(A), trace:session_destroy(B).

exceptions() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [call]), 1 = trace:process(B, P, true, [call, return_to]),
    [1 = trace:function(A, {?MODULE, F, 1}, [{'_', [], [{exception_trace}]}], [local])
     || F <- [f, g, thrower]],
    [1 = trace:function(B, {?MODULE, F, 1}, ?RETURNS, [local]) || F <- [f, g, thrower]],
    call(P, thrower, [x]),
    [out(simple(E)) || E <- events(A, T1, P)], [out(E) || E <- events(B, T2, P)],
    trace:session_destroy(A), trace:session_destroy(B).
simple({trace, P, exception_from, F, {C, R}}) when is_tuple(R) ->
    {trace, P, exception_from, F, {C, element(1, R)}};
simple(E) -> E.

%% Frames that stay on the stack for each session, whose stack stays bounded.
tail_calls() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [call, return_to]), 1 = trace:process(B, P, true, [call]),
    1 = trace:function(A, {?MODULE, tail, 2}, true, [local]),
    1 = trace:function(B, {?MODULE, tail, 2}, [{['$1', '_'], [{'<', '$1', 2}], [{return_trace}]}],
                       [local]),
    out(call(P, tail, [3, ok])),
    out(events(A, T1, P)), out(events(B, T2, P)),
    %% A session that has ended while its frames are there.
    1 = trace:function(A, {?MODULE, tail, 2}, [{['$1', '_'], [], [{return_trace}]}], [local, meta]),
    Me = self(),
    Q = named(q, spawn(fun() -> ?MODULE:f(?MODULE:tail(1, begin Me ! in, 4 end)) end)),
    receive in -> ok end,
    _ = Q,
    trace:session_destroy(A), trace:session_destroy(B).

bifs() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [call, return_to]), 1 = trace:process(B, P, true, [call]),
    1 = trace:function(A, {erlang, atom_to_list, 1}, ?RETURNS, [local]),
    1 = trace:function(B, {erlang, atom_to_list, 1}, [{['$1'], [{'==', '$1', two}],
                                                       [{exception_trace}]}], [local]),
    1 = trace:function(B, {erlang, atom_to_list, 1}, true, [call_count]),
    out([call(P, h, [X]) || X <- [one, two]]),
    %% OTP 27 tells also where an exception of a function of the VM goes to; OTP 25 and minivm do not.
    1 = trace:process(A, P, false, [return_to]),
    out(element(1, element(2, call(P, h, [3])))),
    [out(E) || E <- events(A, T1, P)],
    out(events(B, T2, P)),
    trace:session_destroy(A), trace:session_destroy(B),
    out(erlang:trace_info({erlang, atom_to_list, 1}, all)).

meta() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:function(A, {?MODULE, g, 1}, ?RETURNS, [meta]),
    1 = trace:function(B, {?MODULE, g, 1}, [{['$1'], [{'>', '$1', 5}], [{message, {'*', '$1', 2}}]}],
                       [meta]),
    out([call(P, f, [X]) || X <- [2, 20]]),
    out(events(A, T1, P)), out(events(B, T2, P)),
    out([trace:info(S, {?MODULE, g, 1}, I) || S <- [A, B], I <- [meta, meta_match_spec, traced]]),
    trace:session_destroy(A),
    out(call(P, f, [9])),
    out(events(B, T1, P)), out(events(B, T2, P)),
    trace:session_destroy(B).

counters() ->
    T = tracer(t), P = traced(),
    A = trace:session_create(a, T, []), B = trace:session_create(b, T, []),
    MFA = {?MODULE, g, 1},
    1 = trace:process(A, P, true, [call]), 1 = trace:process(B, P, true, [call]),
    1 = trace:function(A, MFA, true, [call_count, call_time]),
    1 = trace:function(B, MFA, true, [call_count, call_memory]),
    [call(P, f, [X]) || X <- lists:seq(1, 10)],
    1 = trace:function(A, MFA, pause, [call_count]),
    [call(P, f, [X]) || X <- lists:seq(1, 5)],
    1 = trace:function(B, MFA, restart, [call_count]),
    [call(P, f, [X]) || X <- lists:seq(1, 3)],
    out([trace:info(S, MFA, call_count) || S <- [A, B]]),
    {call_time, [{_, Calls, _, _}]} = trace:info(A, MFA, call_time),
    {call_memory, [{_, Calls2, _}]} = trace:info(B, MFA, call_memory),
    out({Calls, Calls2, trace:info(A, MFA, call_memory), trace:info(B, MFA, call_time)}),
    out(erlang:trace_info(MFA, call_count)),
    out(events(A, T, P)),
    trace:session_destroy(A), trace:session_destroy(B).

global() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [call]), 1 = trace:process(B, P, true, [call]),
    1 = trace:function(A, {?MODULE, tail, 2}, ?RETURNS, [global]),
    1 = trace:function(B, {?MODULE, tail, 2}, true, [local]),
    out(call(P, tail, [2, x])),
    out(events(A, T1, P)), out(events(B, T2, P)),
    1 = trace:function(B, {?MODULE, tail, 2}, true, []),
    out(call(P, tail, [2, x])),
    out(events(A, T1, P)), out(events(B, T2, P)),
    out([trace:info(S, {?MODULE, tail, 2}, traced) || S <- [A, B]]),
    %% In the same session one takes the place of the other.
    1 = trace:function(A, {?MODULE, tail, 2}, true, [call_count]),
    out([trace:info(A, {?MODULE, tail, 2}, I) || I <- [traced, call_count]]),
    trace:session_destroy(A), trace:session_destroy(B).

messages() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [send, 'receive']), 1 = trace:process(B, P, true, [send]),
    1 = trace:send(A, [{['_', {x, '$1'}], [{'>', '$1', 5}], [{message, '$1'}]}], []),
    1 = trace:recv(A, [{['_', '_', {send, '_', '_', '$1'}], [], [{message, '$1'}]}], []),
    P ! {send, self(), self(), {x, 3}}, done(), P ! {send, self(), self(), {x, 7}}, done(),
    out(events(A, T1, P)), out(events(B, T2, P)),
    out([trace:info(S, I, match_spec) || S <- [A, B], I <- [send, 'receive']]),
    1 = trace:send(A, false, []), 1 = trace:recv(A, true, []),
    P ! {send, self(), self(), {x, 8}}, done(),
    out(events(A, T1, P)), out(events(B, T2, P)),
    out([trace:info(A, I, match_spec) || I <- [send, 'receive']]),
    out(erlang:trace_info(send, match_spec)),
    trace:session_destroy(A), trace:session_destroy(B).

%% What match specifications do concerns their own session.
actions() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [call]), 1 = trace:process(B, P, true, [call, silent]),
    MFA = {?MODULE, g, 1},
    1 = trace:function(A, MFA, [{['$1'], [{'==', '$1', 1}], [{trace, [], [arity]}]},
                                {['$1'], [{'==', '$1', 2}], [{disable_trace, call}]},
                                {['$1'], [{'==', '$1', 3}], [{enable_trace, send}]}], [local]),
    1 = trace:function(B, MFA, [{['$1'], [{'==', '$1', 2}], [{silent, false}]},
                                {['$1'], [{'==', '$1', 3}], [{message, {caller}}]}], [local]),
    [begin call(P, f, [X]), out({X, flags(A, P), flags(B, P)}) end || X <- [1, 2, 3]],
    1 = trace:process(A, P, true, [call]),
    [begin call(P, f, [X]), out({X, flags(A, P), flags(B, P)}) end || X <- [1, 3]],
    out(events(A, T1, P)), out(events(B, T2, P)),
    out(try_it(fun() -> trace:function(A, MFA, [{'_', [], [{trace, [], [{tracer, T2}]}]}], [local])
               end)),
    trace:session_destroy(A), trace:session_destroy(B).

spawned() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    1 = trace:process(A, P, true, [procs, set_on_spawn]),
    1 = trace:process(B, P, true, [procs, call, set_on_first_spawn]),
    [begin
         P ! {spawn, self(), none}, C = named(Name, done()),
         out({flags(A, C), flags(B, C), flags(B, P)})
     end || Name <- [first, second]],
    1 = trace:process(B, P, true, [set_on_link]), 1 = trace:process(A, P, false, [set_on_spawn]),
    P ! {spawn, self(), link}, L = named(linked, done()),
    out({flags(A, L), flags(B, L)}),
    %% Events of two processes come in any order.
    [[out([E || E <- Es, element(2, E) =:= Of]) || Of <- [traced, first, linked]]
     || Es <- [events(A, T1, all), events(B, T2, all)]],
    trace:session_destroy(A), trace:session_destroy(B).

new() ->
    T1 = tracer(t1), T2 = tracer(t2),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    0 = trace:process(A, new, true, [procs]), 0 = trace:process(B, new, true, [call]),
    out([trace:info(S, new, I) || S <- [A, B], I <- [flags, tracer]]),
    out(names(trace:session_info(new))),
    P = traced(),
    out({flags(A, P), flags(B, P)}),
    0 = trace:process(A, new, false, [procs]),
    Q = traced(),
    out({flags(A, Q), flags(B, Q)}),
    trace:session_destroy(B),
    out(flags(A, traced())),
    out(flags(A, P)),
    trace:session_destroy(A).

to_come() ->
    T1 = tracer(t1), T2 = tracer(t2),
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    P = traced(),
    1 = trace:process(A, P, true, [call]), 1 = trace:process(B, P, true, [call]),
    0 = trace:function(A, on_load, ?RETURNS, [local]),
    load_sample(),
    1 = trace:function(B, {session_sample, one, 0}, true, [local]),
    P ! {call, self(), ?FUNCTION_NAME, []}, done(),
    out([trace:info(S, {session_sample, F, 0}, traced) || S <- [A, B], F <- [one, two]]),
    trace:session_destroy(A), trace:session_destroy(B),
    code:purge(session_sample), code:delete(session_sample), code:purge(session_sample).

%% On minivm new code has what the former had, for each session; on OTP it begins without.
reloaded() ->
    T = spawn(?MODULE, tracer_loop, [[]]),
    A = trace:session_create(a, T, []), B = trace:session_create(b, T, []),
    load_sample(),
    1 = trace:function(A, {session_sample, one, 0}, true, [local]),
    1 = trace:function(A, {session_sample, two, 0}, true, [global]),
    1 = trace:function(B, {session_sample, one, 0}, true, [call_count]),
    [begin
         load_sample(),
         {traced, local} = trace:info(A, {session_sample, one, 0}, traced),
         {traced, global} = trace:info(A, {session_sample, two, 0}, traced),
         session_sample:one(),
         {call_count, 1} = trace:info(B, {session_sample, one, 0}, call_count),
         1 = trace:function(B, {session_sample, one, 0}, restart, [call_count])
     end || _ <- [1, 2, 3]],
    trace:session_destroy(A),
    load_sample(),
    {all, false} = trace:info(B, {session_sample, two, 0}, all),
    {traced, false} = trace:info(B, {session_sample, one, 0}, traced),
    {call_count, 0} = trace:info(B, {session_sample, one, 0}, call_count),
    trace:session_destroy(B),
    load_sample(),
    {all, false} = erlang:trace_info({session_sample, one, 0}, all),
    io:format("ok~n").
load_sample() -> load_beam(sample()).
load_beam(Beam) ->
    code:purge(session_sample),
    {module, session_sample} = code:load_binary(session_sample, "none", Beam).
sample() ->
    Forms = [{attribute, 1, module, session_sample}, {attribute, 1, export, [{one, 0}, {two, 0}]},
             {function, 1, one, 0, [{clause, 1, [], [], [{call, 1, {atom, 1, two}, []}]}]},
             {function, 1, two, 0, [{clause, 1, [], [], [{atom, 1, ok}]}]}],
    {ok, session_sample, Beam} = compile:forms(Forms, []),
    Beam.

%% Sessions that end while code goes that they have breakpoints in.
purged(Rounds) ->
    Beam = sample(),
    load_beam(Beam),
    lists:foreach(
      fun(Round) ->
              S = trace:session_create(s, self(), []),
              true = 2 =< trace:function(S, {session_sample, '_', '_'}, true, [local]),
              load_beam(Beam),
              {P, Ref} = spawn_monitor(fun() -> purge_after(Round rem 50) end),
              busy((Round * 7) rem 50),
              true = trace:session_destroy(S),
              receive {'DOWN', Ref, process, P, Why} -> normal = Why end
      end, lists:seq(1, Rounds)),
    ok = session_sample:one(),
    io:format("ok~n").
purge_after(N) ->
    busy(N),
    code:purge(session_sample).
busy(N) -> lists:sum(lists:seq(1, 20 * N)).

dead_tracer() ->
    T = tracer(t), P = traced(),
    A = trace:session_create(a, T, []),
    1 = trace:process(A, P, true, [call, send]),
    1 = trace:function(A, {?MODULE, f, 1}, true, [local]),
    exit(T, kill),
    M = erlang:monitor(process, T), receive {'DOWN', M, _, _, _} -> ok end,
    out(call(P, f, [1])),
    out({flags(A, P), trace:info(A, P, tracer), trace:info(A, {?MODULE, f, 1}, traced)}),
    out(names(trace:session_info(all))),
    out(trace:session_destroy(A)),
    out(names(trace:session_info(all))).

legacy() ->
    T = tracer(t), U = tracer(u), P = traced(),
    A = trace:session_create(a, T, []),
    1 = trace:process(A, P, true, [call, return_to]),
    1 = erlang:trace(P, true, [call, arity, {tracer, U}]),
    1 = trace:function(A, {?MODULE, f, 1}, ?RETURNS, [local]),
    1 = erlang:trace_pattern({?MODULE, '_', '_'}, ?RETURNS, [local]) - erlang:trace_pattern(
        {?MODULE, '_', '_'}, ?RETURNS, [local]) + 1,
    out(call(P, f, [3])),
    out(events(A, T, P)), out(events(A, U, P)),
    out(names(trace:session_info(P))), out(names(trace:session_info({?MODULE, g, 1}))),
    erlang:trace_pattern({'_', '_', '_'}, false, [local]),
    1 = erlang:trace(P, false, [all]),
    out(call(P, f, [3])),
    out(events(A, T, P)), out(events(A, U, P)),
    trace:session_destroy(A),
    out(erlang:trace_info({?MODULE, f, 1}, all)), out(trace:session_info(P)).

bad() ->
    T = tracer(t), P = traced(), S = trace:session_create(a, T, []), MFA = {?MODULE, f, 1},
    Dead = spawn(fun() -> ok end),
    M = erlang:monitor(process, Dead), receive {'DOWN', M, _, _, _} -> ok end,
    [out({N, try_it(F)}) || {N, F} <- [
        {1, fun() -> trace:session_create("x", T, []) end},
        {2, fun() -> trace:session_create(x, foo, []) end},
        {3, fun() -> trace:session_create(x, T, foo) end},
        {4, fun() -> trace:session_create(x, T, [foo]) end},
        {5, fun() -> trace:session_create(x, {no_such_module, []}, []) end},
        {6, fun() -> trace:session_destroy(foo) end},
        {7, fun() -> trace:session_destroy(make_ref()) end},
        {8, fun() -> trace:session_destroy({legacy, default}) end},
        {9, fun() -> trace:process(foo, P, true, [call]) end},
        {10, fun() -> trace:process(S, foo, true, [call]) end},
        {11, fun() -> trace:process(S, P, foo, [call]) end},
        {12, fun() -> trace:process(S, P, true, [foo]) end},
        {13, fun() -> trace:process(S, P, true, call) end},
        {14, fun() -> trace:process(S, P, true, [{tracer, T}]) end},
        {15, fun() -> trace:process(S, ports, true, [send]) end},
        {16, fun() -> trace:process(S, Dead, true, [call]) end},
        {17, fun() -> trace:process({legacy, default}, P, true, [call]) end},
        {18, fun() -> trace:function(S, MFA, true, [foo]) end},
        {19, fun() -> trace:function(S, {?MODULE, f}, true, [local]) end},
        {20, fun() -> trace:function(S, MFA, foo, [local]) end},
        {21, fun() -> trace:function(S, {?MODULE, nope, 1}, true, [local]) end},
        {22, fun() -> trace:function(S, MFA, true, [{meta, T}]) end},
        {23, fun() -> trace:function(S, MFA, [{'_', [], [{nope}]}], [local]) end},
        {24, fun() -> trace:function(foo, MFA, true, [local]) end},
        {25, fun() -> trace:send(S, foo, []) end},
        {26, fun() -> trace:send(S, true, [foo]) end},
        {27, fun() -> trace:recv(foo, true, []) end},
        {28, fun() -> trace:info(S, MFA, foo) end},
        {29, fun() -> trace:info(S, foo, flags) end},
        {30, fun() -> trace:info(foo, P, flags) end},
        {31, fun() -> trace:info(S, P, session) end},
        {32, fun() -> trace:info(any, P, flags) end},
        {33, fun() -> trace:info({legacy, default}, P, flags) end},
        {34, fun() -> trace:session_info(foo) end},
        {35, fun() -> trace:session_info(S) end},
        {36, fun() -> trace:delivered(S, foo) end},
        {37, fun() -> trace:port(S, foo, true, [send]) end},
        {38, fun() -> trace:info(S, Dead, flags) end},
        {39, fun() -> trace:session_info(Dead) end},
        {40, fun() -> trace:info(any, {no_such_module, f, 1}, session) end},
        {41, fun() -> trace:info(S, {no_such_module, f, 1}, traced) end}]],
    out({flags(S, P), trace:info(S, MFA, all)}),
    trace:session_destroy(S).

infos() ->
    T1 = tracer(t1), T2 = tracer(t2), P = traced(), MFA = {?MODULE, f, 1},
    A = trace:session_create(a, T1, []), B = trace:session_create(b, T2, []),
    out([names(trace:session_info(X)) || X <- [all, P, MFA, {?MODULE, nope, 1}, send, 'receive', new,
                                              new_processes, new_ports, on_load, self()]]),
    1 = trace:process(B, P, true, [call]), 1 = trace:function(A, MFA, true, [call_count]),
    1 = trace:send(A, false, []),
    out([names(trace:session_info(X)) || X <- [all, P, MFA, send, 'receive', new]]),
    out(trace:info(A, MFA, all)), out(trace:info(B, MFA, all)),
    out([trace:info(S, P, I) || S <- [A, B], I <- [flags, tracer]]),
    trace:session_destroy(A), trace:session_destroy(B).

destroyed() ->
    T = tracer(t), P = traced(), MFA = {?MODULE, f, 1},
    A = trace:session_create(a, T, []),
    1 = trace:process(A, P, true, [call]), 1 = trace:function(A, MFA, ?RETURNS, [local]),
    1 = trace:function(A, {?MODULE, g, 1}, true, [meta, call_count]),
    call(P, f, [1]),
    out(trace:session_destroy(A)),
    call(P, f, [2]),
    [out(E) || E <- events(A, T, P)],
    out(trace:session_info(P)), out(trace:session_info(MFA)),
    out(trace:session_destroy(A)),
    out([try_it(F) || F <- [fun() -> trace:process(A, P, true, [call]) end,
                            fun() -> trace:function(A, MFA, true, [local]) end,
                            fun() -> trace:send(A, true, []) end,
                            fun() -> trace:info(A, P, flags) end]]).

%% A session ends when nobody has its handle any more; the handle may be sent, and a part of it, which
%% does not keep it, stands for it.
handles() ->
    T = tracer(t), P = traced(),
    {_, Weak} = A = trace:session_create(a, T, []),
    {a, N} = Weak, true = is_integer(N),
    1 = trace:process(Weak, P, true, [call]),
    out(flags(A, P)),
    out(try_it(fun() -> trace:process(element(1, A), P, true, [send]) end)),
    out(try_it(fun() -> trace:process({b, N}, P, true, [send]) end)),
    Me = self(),
    Holder = spawn(fun() ->
                           H = trace:session_create(held, T, []),
                           1 = trace:process(H, P, true, [send]),
                           1 = trace:function(H, {?MODULE, f, 1}, true, [local]),
                           Me ! ready,
                           receive stop -> trace:session_info(all), Me ! {last, H} end
                   end),
    receive ready -> ok end,
    out(names(trace:session_info(P))),
    Holder ! stop,
    ended(gone(Me), P),
    out(try_it(fun() -> trace:info(Weak, {?MODULE, f, 1}, traced) end)),
    out(trace:session_destroy(Weak)),
    out(names(trace:session_info(P))),
    out(trace:session_destroy(A)).
gone(_) -> receive {last, H} -> names([element(2, H)]) end.
ended([held], P) ->
    erlang:garbage_collect(),
    case names(trace:session_info(P)) of
        [a] -> out(ended);
        _ -> timer:sleep(10), ended([held], P)
    end.

%% ---- stress -------------------------------------------------------------------------------------

%% Several processes, each with sessions of its own on the same functions of one process that calls
%% them all the time: what a session counts and records is exact between its calls and its end.
stress(Seconds) ->
    P = spawn(?MODULE, traced_loop, []),
    End = erlang:monotonic_time(millisecond) + 1000 * Seconds,
    Me = self(),
    Ws = [spawn_link(fun() -> Me ! {rounds, worker(N, P, End, 0)} end) || N <- lists:seq(1, 4)],
    Rounds = [receive {rounds, R} -> R end || _ <- Ws],
    no_sessions(200),
    {all, false} = erlang:trace_info({?MODULE, f, 1}, all),
    [] = trace:session_info(P),
    [] = trace:session_info({?MODULE, g, 1}),
    io:format("ok ~p~n", [lists:sum(Rounds) > 0]).

worker(N, P, End, Rounds) ->
    case erlang:monotonic_time(millisecond) >= End of
        true -> Rounds;
        false ->
            T = spawn(?MODULE, tracer_loop, [[]]),
            Q = spawn_link(?MODULE, traced_loop, []),
            S = trace:session_create(stress, T, []),
            1 = trace:process(S, Q, true, [call, return_to]),
            1 = trace:process(S, P, true, [call, send]),
            Kind = element(1 + (Rounds + N) rem 2, {local, global}),
            1 = trace:function(S, {?MODULE, f, 1}, ?RETURNS, [Kind]),
            1 = trace:function(S, {?MODULE, g, 1}, true, [call_count, call_time]),
            Calls = 1 + (Rounds * 7 + N) rem 20,
            [7 = call(Q, f, [3]) || _ <- lists:seq(1, Calls)],
            _ = call(P, f, [Rounds]),
            Got = raw_events(S, T, Q),
            Of = [E || {trace, From, call, {_, f, [3]}} = E <- Got, From =:= Q],
            Back = [E || {trace, From, return_from, {_, f, 1}, 7} = E <- Got, From =:= Q],
            {Calls, Calls, _} = {length(Of), length(Back), Kind},
            {call_time, Times} = trace:info(S, {?MODULE, g, 1}, call_time),
            {Q, Calls, _, _} = lists:keyfind(Q, 1, Times),
            {call_count, Counted} = trace:info(S, {?MODULE, g, 1}, call_count),
            true = Counted >= Calls,
            case Rounds rem 3 of
                0 -> ok;  % its handle goes
                _ -> true = trace:session_destroy(S),
                     _ = raw_events(S, T, Q),
                     7 = call(Q, f, [3]),
                     [] = [E || E <- raw_events(S, T, Q), element(2, E) =:= Q]
            end,
            unlink(Q), exit(Q, kill), exit(T, kill),
            worker(N, P, End, Rounds + 1)
    end.
raw_events(Session, Tracer, P) ->
    Ref = trace:delivered(Session, P),
    receive {trace_delivered, P, Ref} -> ok end,
    Tracer ! {fetch, self()},
    receive {got, Events} -> Events end.

%% What OTP has for its own suites: a session in which everybody names a tracer, as in erlang:trace/3.
no_tracer() ->
    T1 = tracer(t1), T2 = tracer(t2), T3 = tracer(t3), P = traced(), Q = traced(),
    A = trace:session_create(a, undefined, []), B = trace:session_create(b, T3, []),
    1 = trace:process(A, P, true, [call, {tracer, T1}]),
    1 = trace:process(A, Q, true, [call]),
    1 = trace:process(B, P, true, [call]),
    1 = trace:function(A, {?MODULE, f, 1}, ?RETURNS, [local]),
    1 = trace:function(B, {?MODULE, g, 1}, ?RETURNS, [local]),
    1 = trace:function(A, {?MODULE, g, 1}, ?RETURNS, [{meta, T2}]),
    1 = trace:function(A, {erlang, list_to_tuple, 1}, ?RETURNS, [{meta, T2}]),
    out(list_to_tuple([P, T1])),
    out([call(P, f, [3]), call(Q, f, [4])]),
    1 = trace:function(A, {erlang, list_to_tuple, 1}, false, [meta]),
    out(events(A, T1, P)), out(events(A, T2, P)), out(events(B, T3, P)),
    out(trace:info(A, P, tracer) =:= {tracer, T1}),
    out(trace:info(A, Q, tracer) =:= {tracer, self()}),
    out(trace:info(A, {?MODULE, g, 1}, meta) =:= {meta, T2}),
    receive {trace, Q, call, {_, f, [4]}} -> out(told) after 5000 -> out(not_told) end,
    %% In a session that has its own, and in a specification, a tracer's name is refused.
    Reason = fun(F) -> try F() catch error:R -> R end end,
    Other = [{'_', [], [{trace, [], [send, {tracer, T2}]}]}],
    out([Reason(F) || F <- [fun() -> trace:process(B, P, true, [send, {tracer, T3}]) end,
                            fun() -> trace:function(A, {?MODULE, f, 1}, Other, [local]) end]]),
    1 = trace:function(A, {?MODULE, f, 1}, [{'_', [], [{trace, [], [send]}]}], [local]),
    call(P, f, [5]),
    out(flags(A, P)),
    trace:session_destroy(A), trace:session_destroy(B).
