%% Calls between a module of the JIT and one of the interpreter: tail calls in constant stack, calls,
%% exceptions, collections, yields and stack traces over frames of both. The argument, N,Depth, says how
%% many tail calls of each kind there are and how deep other calls go; `tools/check` and `tools/soak
%% crossings` give more than what is the default here.
-module(modules_crossing).
-export([main/1]).

-define(BOTH, [modules_crossing_jit, modules_crossing_interp]).

main([Words]) ->
    [N, Depth] = string:lexemes(Words, ","),
    run(list_to_integer(N), list_to_integer(Depth));
main(_) -> run(20000, 500).

run(N, Depth) ->
    [alone(fun() -> tail_calls(Kind, N, M) end)
     || Kind <- [ext, framed, hop, by_name, by_args, by_fun, by_closure, bif, catching], M <- ?BOTH],
    [alone(fun() -> calls(M, Depth) end) || M <- ?BOTH],
    [alone(fun() -> exceptions(M, How, Depth) end)
     || How <- [throw, error, exit, badmatch, bif, undef, badfun, badarith], M <- ?BOTH],
    [alone(fun() -> stacks(M) end) || M <- ?BOTH],
    [server(M) || M <- ?BOTH].

%% A process of its own, so that no heap of a case before is there.
alone(F) ->
    {P, R} = spawn_monitor(F),
    receive {'DOWN', R, process, P, Why} -> io:format("~p~n", [Why]) end.

tail_calls(Kind, N, M) ->
    Other = hd(?BOTH -- [M]),
    Sum = case Kind of
              by_name -> M:by_name(N, 0, Other);
              by_fun -> M:by_fun(N, 0, [fun Other:by_fun/3, fun M:by_fun/3]);
              by_closure -> M:by_closure(N, 0, [M:closure(1), Other:closure(2), M:closure(3)]);
              _ -> M:Kind(N, 0)
          end,
    {total_heap_size, Words} = process_info(self(), total_heap_size),
    exit({Kind, M, Sum, constant_stack, Words < 20000}).

calls(M, Depth) ->
    Other = hd(?BOTH -- [M]),
    F = fun(X) -> X band 3 end,
    Echo = spawn_link(fun echo/0),
    exit({M, M:deep(Depth), M:deep_fun(Depth, F), M:deep_apply(Depth, Other),
          M:garbage(Depth, []), M:yielding(500, self()), M:waiting(500, Echo),
          lists:sum(lists:map(fun M:deep/1, lists:seq(1, 20))),
          lists:foldl(fun(X, A) -> M:deep(X) + Other:deep(A rem 10) end, 0, lists:seq(1, 20))}).

echo() -> receive {From, X} -> From ! {self(), X}, echo() end.

exceptions(M, How, Depth) ->
    put(afters, 0),
    exit({How, M,
          [attempt(fun() -> M:fail(D, How) end) || D <- [0, 1, 2, 3, 20, Depth]],
          attempt(fun() -> M:guarded(200, How) end),
          attempt(fun() -> M:after_each(200, How) end), get(afters),
          (catch M:fail(7, throw))}).

attempt(F) ->
    try F() of V -> {value, V}
    catch C:R:S ->
        {C, R, length(S), [{Mod, Fun, if is_list(A) -> length(A); true -> A end,
                            proplists:get_value(line, L)} || {Mod, Fun, A, L} <- lists:sublist(S, 6),
                            Mod =/= ?MODULE]}
    end.

stacks(M) ->
    Self = self(),
    P = spawn_link(fun() -> exit({slept, M:sleeper(20, Self)}) end),
    receive {P, asleep} -> ok end,
    {current_stacktrace, S} = await_stack(P),
    process_flag(trap_exit, true),
    erlang:garbage_collect(P),
    P ! go,
    Slept = receive {'EXIT', P, Why} -> Why end,
    exit({[M:traced(D) || D <- [1, 2, 3, 6]], [{Mod, F, A} || {Mod, F, A, _} <- S], Slept}).

await_stack(P) ->
    case process_info(P, [status, current_stacktrace]) of
        [{status, waiting}, S] -> S;
        _ -> erlang:yield(), await_stack(P)
    end.

server(M) ->
    P = spawn(M, loop, [0]),
    Ask = fun(X) -> P ! {call, self(), X}, receive {P, N, X, W} -> {N, W} end end,
    io:format("~p~n", [[Ask(X) || X <- [a, b, c]]]),
    P ! {hibernate, self()},
    receive {P, hibernating} -> ok end,
    io:format("~p~n", [[Ask(X) || X <- [d, e]]]),
    R = monitor(process, P),
    P ! stop,
    receive {'DOWN', R, process, P, Why} -> io:format("~p~n", [Why]) end,
    [begin
         {Q, QR} = spawn_monitor(fun() ->
             try M:loop(0) catch C:E:S -> exit({C, E, [{F, A} || {_, F, A, _} <- lists:sublist(S, 2)]}) end
         end),
         Q ! {call, self(), x},
         receive {Q, 0, x, _} -> ok end,
         Q ! Bad,
         receive {'DOWN', QR, process, Q, Reason} -> io:format("~p~n", [Reason]) end
     end || Bad <- [{fail, why}, {throw, it}]].
