%% Sequential tracing: tokens, their counters, who carries them on, what the system tracer is told.
-module(trace_seq).
-export([main/1, traced/1]).

main(_) ->
    Tracer = spawn(fun() -> tracer([]) end),
    p({tracer, seq_trace:set_system_tracer(Tracer)}),
    p({tracer_is_it, seq_trace:get_system_tracer() =:= Tracer}),
    p({tracer_is_it, erlang:system_info(sequential_tracer) =:= {sequential_tracer, Tracer}}),
    [begin
         true = seq_trace:reset_trace(),
         io:format("== ~w~n", [Name]),
         Result = try F() catch C:R -> {C, R} end,
         seq_trace:set_token([]),
         io:format("~p~n", [mask(Result)]),
         timer:sleep(20),
         Tracer ! {get, self()},
         receive {events, Events} -> [io:format("  ~p~n", [mask(E)]) || E <- sort(Events)] end,
         flush()
     end || {Name, F} <- cases()],
    p({old, seq_trace:set_system_tracer(false) =:= Tracer}),
    p(seq_trace:get_system_tracer()).

flags(Fs) -> [seq_trace:set_token(F, true) || F <- Fs].
all() -> seq_trace:set_token(label, 17), flags([send, 'receive', print]).

cases() ->
    %% After a spawn OTP 25 goes on with a counter that is a tagged word: no sends of main then.
    [{no_token, fun() -> [seq_trace:get_token(), [seq_trace:get_token(C) ||
                              C <- [send, 'receive', print, timestamp, monotonic_timestamp,
                                    strict_monotonic_timestamp, label, serial]]] end},
     {bad_component, fun() -> seq_trace:get_token(nonsense) end},
     {bad_set, fun() -> seq_trace:set_token(nonsense, true) end},
     {bad_flag, fun() -> seq_trace:set_token(send, maybe_so) end},
     {bad_serial, fun() -> seq_trace:set_token(serial, 7) end},
     {bad_tracer, fun() -> seq_trace:set_system_tracer(nonsense) end},
     {set_get, fun() ->
         A = [seq_trace:set_token(label, {my, label}), seq_trace:set_token(send, true),
              seq_trace:set_token(send, true), seq_trace:set_token(print, true),
              seq_trace:set_token(print, false), seq_trace:set_token(timestamp, true),
              seq_trace:set_token(monotonic_timestamp, true)],
         B = seq_trace:get_token(),
         C = [seq_trace:get_token(X) || X <- [label, serial, send, print, timestamp]],
         D = seq_trace:set_token(serial, {3, 5}),
         E = seq_trace:get_token(),
         F = seq_trace:set_token({7, other, 11, self(), 10}),
         G = seq_trace:get_token(),
         H = seq_trace:set_token([]),
         I = seq_trace:get_token(),
         J = seq_trace:set_token(label, 1),
         [A, B, C, D, E, F, G, H, I, J, seq_trace:get_token()] end},
     {process_info, fun() ->
         Self = self(),
         P = spawn(fun() -> receive go -> ok end, Self ! done, receive never -> ok end end),
         seq_trace:set_token(label, x),
         P ! go, receive done -> ok end,
         [process_info(P, sequential_trace_token), process_info(self(), sequential_trace_token)] end},
     {print, fun() ->
         all(),
         [seq_trace:print(one), seq_trace:print(17, two), seq_trace:print(18, not_this),
          (try seq_trace:print(a_label, three) catch error:E -> E end), erlang:seq_trace_print(17, four),
          erlang:seq_trace_print(18, five)] end},
     {print_without_flag, fun() ->
         seq_trace:set_token(label, 17), seq_trace:print(unseen), seq_trace:get_token() end},
     {send_only, fun() ->
         P = echo(), seq_trace:set_token(label, 17), seq_trace:set_token(send, true),
         P ! {self(), hello}, receive {P, R} -> R end end},
     {receive_only, fun() ->
         P = echo(), seq_trace:set_token(label, 17), seq_trace:set_token('receive', true),
         P ! {self(), hello}, receive {P, R} -> R end end},
     {round_trips, fun() ->
         P = echo(), Q = echo(),
         all(),
         [begin X ! {self(), N}, receive {X, N} -> ok end end || {X, N} <- [{P, 1}, {Q, 2}, {P, 3}]],
         seq_trace:get_token() end},
     {relay, fun() ->
         Self = self(),
         C = spawn(fun() -> receive X -> Self ! {c, X, seq_trace:get_token()} end end),
         B = spawn(fun() -> receive X -> C ! {b, X} end end),
         all(), B ! start, receive M -> M end end},
     {untraced_clears, fun() ->
         Self = self(),
         P = spawn(fun() -> receive go -> Self ! plain end end),
         P ! go,
         all(),
         timer:sleep(10),
         receive plain -> ok end,
         seq_trace:get_token() end},
     {timeout_keeps, fun() -> all(), receive nothing -> ok after 1 -> ok end, seq_trace:get_token() end},
     {timer_keeps, fun() ->
         all(), erlang:send_after(1, self(), tick), receive tick -> ok end, seq_trace:get_token() end},
     {down_keeps, fun() ->
         P = spawn(fun() -> receive stop -> ok end end), monitor(process, P),
         Me = self(), spawn(fun() -> timer:sleep(30), P ! stop, Me end),
         all(), receive {'DOWN', _, _, _, R} -> R end, [R, seq_trace:get_token()] end},
     {exit_link, fun() ->
         process_flag(trap_exit, true),
         P = spawn_link(fun() -> receive X -> exit({got, X}) end end),
         all(), P ! now, receive {'EXIT', P, R} -> ok end,
         process_flag(trap_exit, false), [R, seq_trace:get_token()] end},
     {exit_2, fun() ->
         process_flag(trap_exit, true), all(), exit(self(), hey),
         receive {'EXIT', _, R} -> ok end, process_flag(trap_exit, false),
         [R, seq_trace:get_token()] end},
     {named, fun() ->
         P = echo(), register(trace_seq_echo, P), all(),
         trace_seq_echo ! {self(), a}, receive {P, a} -> ok end,
         {trace_seq_echo, node()} ! {self(), b}, receive {P, b} -> ok end,
         erlang:send(trace_seq_echo, {self(), c}), receive {P, c} -> ok end,
         (catch nobody_has_this ! x), seq_trace:get_token() end},
     {alias, fun() ->
         A = alias(), all(), A ! by_alias, receive by_alias -> ok end,
         unalias(A), A ! gone, seq_trace:get_token() end},
     {dead_receiver, fun() ->
         P = spawn(fun() -> ok end), timer:sleep(10), all(), P ! lost, seq_trace:get_token() end},
     {to_self, fun() -> all(), self() ! me, receive me -> ok end, seq_trace:get_token() end},
     {labels, fun() ->
         P = echo(),
         [begin
              seq_trace:set_token(label, L), flags([send]),
              P ! {self(), L}, receive {P, L} -> ok end,
              {seq_trace:get_token(label), seq_trace:set_token([])}
          end || L <- [atom, 1, "a string", {tuple, [1, 2.5, <<"bin">>]}, #{a => b}, 1 bsl 80]] end},
     {timestamps, fun() ->
         P = echo(),
         [begin
              seq_trace:set_token(label, T), flags([send, T]),
              P ! {self(), T}, receive {P, T} -> ok end, seq_trace:set_token([])
          end || T <- [timestamp, monotonic_timestamp, strict_monotonic_timestamp]] end},
     {spawned, fun() ->
         all(), Self = self(),
         spawn(fun() -> Self ! {child, seq_trace:get_token()} end),
         receive {child, T} -> [T, seq_trace:get_token()] end end},
     {spawn_mfa_linked, fun() ->
         all(),
         P = spawn_link(?MODULE, traced, [self()]),
         receive {P, T} -> [T, seq_trace:get_token()] end end},
     {spawn_opt, fun() ->
         all(), {P, R} = spawn_opt(?MODULE, traced, [self()], [monitor, {priority, high}]),
         receive {P, T} -> T end, receive {'DOWN', R, _, _, _} -> ok end,
         [T, seq_trace:get_token()] end},
     {spawn_request, fun() ->
         all(), R = spawn_request(?MODULE, traced, [self()], [{reply_tag, its_reply}]),
         P = receive {its_reply, R, ok, P0} -> P0 end,
         receive {P, T} -> [T, seq_trace:get_token()] end end},
     {many, fun() ->
         Ps = [echo() || _ <- lists:seq(1, 5)],
         all(),
         [P ! {self(), N} || P <- Ps, N <- [1, 2]],
         [receive {P, N} -> ok end || P <- Ps, N <- [1, 2]],
         seq_trace:get_token() end},
     {reset_reaches_messages, fun() ->
         Self = self(),
         P = spawn(fun() -> receive go -> ok end, receive X -> Self ! {X, seq_trace:get_token()} end end),
         all(), P ! with_token, seq_trace:set_token([]),
         seq_trace:reset_trace(), P ! go,
         receive {with_token, T} -> T end end},
     {collected, fun() ->
         Self = self(),
         P = spawn(fun() -> receive X -> ok end, [garbage_collect() || _ <- [1, 2, 3]],
                            L = lists:seq(1, 100000), garbage_collect(), Self ! {X, length(L)} end),
         seq_trace:set_token(label, {a, "label", lists:seq(1, 50)}), flags([send]),
         P ! token, receive M -> M end, garbage_collect(),
         [M, seq_trace:get_token(label) =:= {label, {a, "label", lists:seq(1, 50)}}] end},
     {match_spec, fun() ->
         Me = self(),
         erlang:trace_pattern({?MODULE, traced, 1},
             [{['$1'], [], [{set_seq_token, label, {{from, ms}}}, {set_seq_token, send, true},
                            {message, {get_seq_token}}]}], [local]),
         P = spawn(fun() -> receive go -> traced(Me) end end),
         erlang:trace(P, true, [call]),
         P ! go,
         receive {P, T} -> ok end,
         M = receive {trace, P, call, _, X} -> X end,
         erlang:trace_pattern({?MODULE, traced, 1},
             [{'_', [{is_seq_trace}], [{message, yes}]}, {'_', [], [{message, no}]}], [local]),
         Q = fun() -> spawn(fun() -> receive go -> traced(Me) end end) end,
         Answers = [begin
             Y = Q(), erlang:trace(Y, true, [call]),
             case Token of none -> seq_trace:set_token([]); _ -> seq_trace:set_token(label, 4) end,
             Y ! go, receive {Y, _} -> ok end, receive {trace, Y, call, _, A} -> A end
         end || Token <- [none, some]],
         seq_trace:set_token([]),
         erlang:trace_pattern({?MODULE, traced, 1}, false, [local]),
         [T, M, Answers] end},
     {match_spec_tests, fun() ->
         [erlang:match_spec_test([1], [{'_', [], [{message, A}]}], trace) ||
             A <- [{is_seq_trace}, {get_seq_token}, {set_seq_token, label, 7},
                   {set_seq_token, nonsense, 7}, {set_seq_token, send, true}]] end},
     {silent_tracer, fun() ->
         P = echo(),
         T = seq_trace:set_system_tracer(self()), all(), self() ! x, receive x -> ok end,
         P ! {self(), y}, receive {P, y} -> ok end,
         R = seq_trace:get_token(), seq_trace:set_system_tracer(T),
         [R, receive_all()] end},
     {dead_tracer, fun() ->
         D = spawn(fun() -> ok end), timer:sleep(10),
         R = (catch seq_trace:set_system_tracer(D)),
         [element(1, R), seq_trace:get_system_tracer() =/= D] end}].

traced(To) -> To ! {self(), seq_trace:get_token()}.

echo() -> spawn(fun Loop() -> receive {From, X} -> From ! {self(), X}, Loop() end end).

receive_all() -> receive M -> [M | receive_all()] after 20 -> [] end.
flush() -> receive _ -> flush() after 0 -> ok end.

%% Who is told by two processes at once may be told in any order.
sort(Events) ->
    Key = fun(E) -> {What, Counts, _, _, _} = element(3, E), {Counts, What =:= 'receive'} end,
    [E || {_, E} <- lists:keysort(1, [{Key(E), E} || E <- Events])].

tracer(Acc) ->
    receive
        {get, Who} -> Who ! {events, lists:reverse(Acc)}, tracer([]);
        E -> tracer([E | Acc])
    end.

p(X) -> io:format("~p~n", [mask(X)]).

mask(Pid) when Pid =:= self() -> main;
mask(Pid) when is_pid(Pid) -> pid;
mask(Ref) when is_reference(Ref) -> ref;
mask(F) when is_function(F) -> a_fun;
mask({seq_trace, L, W, {_, _, _}}) -> {seq_trace, mask(L), mask(W), a_timestamp};
mask({seq_trace, L, W, {_, _}}) -> {seq_trace, mask(L), mask(W), a_strict_time};
mask({seq_trace, L, W, T}) when is_integer(T) -> {seq_trace, mask(L), mask(W), a_time};
mask(T) when is_tuple(T) -> list_to_tuple([mask(E) || E <- tuple_to_list(T)]);
mask([H | T]) -> [mask(H) | mask(T)];
mask(X) -> X.
