%% erlang:apply/2 and apply/3 as traced functions: only where they are called as functions, which is by a fun of one, a
%% name that comes at run time, or as the first function of a process. Calls that the compiler has instructions for are none.
-module(trace_apply).
-export([main/1, f/1, f/0, work/1, many/1]).

f(X) -> X.
f() -> ok.

main(_) ->
    [io:format("~p ~p ~p~n", [A, Flags, [erlang:trace_pattern({erlang, apply, A}, How, Flags) || How <- [true, false]]])
     || A <- ['_', 0, 1, 2, 3, 4], Flags <- [[], [local], [call_count], [call_time], [meta]]],
    infos(),
    [traced(Flags, Spec)
     || Flags <- [[], [local]], Spec <- [true, [{'_', [], [{return_trace}]}], [{'_', [], [{message, {caller}}, {exception_trace}]}],
                                         [{['$1', '_'], [{is_atom, '$1'}], []}]]],
    counted(),
    counted_while_collecting().

infos() ->
    [begin
         erlang:trace_pattern({erlang, apply, A}, How, Flags),
         io:format("~p~n", [[erlang:trace_info({erlang, apply, A}, I) || I <- [traced, match_spec, call_count]]])
     end || A <- [2, 3], {How, Flags} <- [{true, []}, {[{'_', [], [{return_trace}]}], [local]}, {true, [call_count]}, {false, [call_count]},
                                          {false, [local]}, {false, []}]].

%% Counters count in all processes.
counted() ->
    [1 = erlang:trace_pattern({erlang, apply, A}, true, [call_count]) || A <- [2, 3]],
    Before = counts(),
    ?MODULE:work(funs()),
    io:format("~p~n", [lists:zipwith(fun erlang:'-'/2, counts(), Before)]),
    [erlang:trace_pattern({erlang, apply, A}, false, [call_count]) || A <- [2, 3]].
counts() -> [element(2, erlang:trace_info({erlang, apply, A}, call_count)) || A <- [2, 3]].

%% A fun that apply/2 calls when a collection is due, as it may be behind a message, is counted, too.
counted_while_collecting() ->
    [1 = erlang:trace_pattern({?MODULE, F, A}, true, [call_count]) || {F, A} <- [{f, 0}, {f, 1}, {many, 1}]],
    Message = lists:seq(1, 1000),
    {Pid, Ref} = spawn_monitor(fun() ->
                                       receive start -> ok end,
                                       [applied(F, 5) || F <- [fun f/0, fun ?MODULE:many/1]]
                               end),
    [Pid ! Message || _ <- lists:seq(1, 10)],
    Pid ! start,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    io:format("~p~n", [[erlang:trace_info({?MODULE, F, A}, call_count) || {F, A} <- [{f, 0}, {f, 1}, {many, 1}]]]),
    erlang:trace_pattern({?MODULE, '_', '_'}, false, [call_count]).

applied(_, 0) -> ok;
applied(F, N) ->
    Arguments = [N || is_function(F, 1)],
    A2 = hd([fun erlang:apply/2]),
    receive [_ | _] -> A2(F, Arguments) end,
    applied(F, N - 1).
many(N) -> N.

traced(Flags, Spec) ->
    2 = erlang:trace_pattern({erlang, apply, '_'}, Spec, Flags),
    io:format("~p ~p~n", [Flags, Spec]),
    Self = self(),
    Funs = funs(),
    Pid = spawn_link(fun() -> Self ! ready, receive go -> ok end, Self ! {self(), catch ?MODULE:work(Funs)} end),
    receive ready -> ok end,
    1 = erlang:trace(Pid, true, [call]),
    Pid ! go,
    receive {Pid, Result} -> io:format("~p~n", [Result]) end,
    %% The first function of a process.
    begins(fun() -> spawn_link(fun f/0) end),
    begins(fun() -> spawn_link(?MODULE, f, []) end),
    begins(fun() -> spawn_link(erlang, apply, [fun ?MODULE:f/1, [14]]) end),
    begins(fun() -> spawn_link(fun() -> receive _ -> ok after 0 -> f(15) end end) end),
    D = erlang:trace_delivered(all),
    receive {trace_delivered, all, D} -> ok end,
    events(),
    erlang:trace_pattern({erlang, apply, '_'}, false, Flags).

begins(Start) ->
    Self = self(),
    Parent = spawn_link(fun() ->
                                Self ! ready,
                                receive go -> ok end,
                                process_flag(trap_exit, true),
                                P = Start(),
                                receive {'EXIT', P, normal} -> Self ! {self(), done} end
                        end),
    receive ready -> ok end,
    1 = erlang:trace(Parent, true, [call, set_on_spawn]),
    Parent ! go,
    receive {Parent, done} -> ok end.

events() ->
    receive E when element(1, E) =:= trace -> io:format("    ~p~n", [plain(E)]), events() after 0 -> ok end.

funs() -> {hd([fun erlang:apply/2]), hd([fun erlang:apply/3]), hd([erlang]), hd([apply]), hd([[4]])}.

work({A2, A3, E, A, L}) ->
    F = fun ?MODULE:f/1,
    R = [{A2(F, [1])}, {A3(?MODULE, f, [2])}, {E:A(F, [3])}, {apply(F, L)}, {apply(?MODULE, f, L)}, {erlang:apply(F, L)},
         {lists:map(fun(X) -> A2(F, [X]) end, [5])}, {apply(A2, [F, [6]])}, {lists:foldl(fun erlang:apply/2, 7, [])},
         {element(1, element(2, catch A2(foo, [])))}, {element(1, element(2, catch A2(F, [1, 2])))},
         {element(1, element(2, catch A3(?MODULE, no_such, [])))}, {element(1, element(2, catch A3(?MODULE, 1, [])))},
         {catch A3(erlang, throw, [8])}, {A3(erlang, apply, [F, [9]])}, {A2(F, [A2(F, [10])])}],
    self() ! {tail, tail(A2, F)},
    self() ! {tail, tail_3(A3)},
    [R, [receive {tail, T} -> T end || _ <- [1, 2]]].
tail(A2, F) -> A2(F, [11]).
tail_3(A3) -> A3(?MODULE, f, [12]).

plain(P) when is_pid(P) -> pid;
plain([H | T]) -> [plain(H) | plain(T)];
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain(F) when is_function(F) -> case erlang:fun_info(F, type) of {type, external} -> F; _ -> 'fun' end;
plain(T) -> T.
