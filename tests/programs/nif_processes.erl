%% What native functions do with processes: messages, threads, resources and their monitors, calls made
%% later, time slices.
-module(nif_processes).
-export([start/0]).
-on_load(load/0).
-nifs([create/2, number/1, living/0, watch/2, unwatch/1, send/2, send_dirty/2, thread/1, steps/2,
       slices/0, misc/0, times/0, queue/2]).

load() -> erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_processes"), 0).

create(_, _) -> erlang:nif_error(no).
number(_) -> erlang:nif_error(no).
living() -> erlang:nif_error(no).
watch(_, _) -> erlang:nif_error(no).
unwatch(_) -> erlang:nif_error(no).
send(_, _) -> erlang:nif_error(no).
send_dirty(_, _) -> erlang:nif_error(no).
thread(_) -> erlang:nif_error(no).
steps(_, _) -> erlang:nif_error(no).
slices() -> erlang:nif_error(no).
misc() -> erlang:nif_error(no).
times() -> erlang:nif_error(no).
queue(_, _) -> erlang:nif_error(no).

start() ->
    Message = {some, "term", <<1, 2, 3>>, binary:copy(<<"x">>, 500), 1 bsl 80, #{a => 1.0e300}},
    io:format("~p~n", [send(self(), Message)]),
    io:format("~p~n", [[next() || _ <- [1, 2, 3]] =:= [{copied, Message, Message}, {direct, Message}, atom]]),
    io:format("~p~n", [send_dirty(self(), Message)]),
    io:format("~p~n", [[next() || _ <- [1, 2, 3]] =:= [{copied, Message, Message}, {direct, Message}, atom]]),
    register(a_name, self()),
    io:format("~p ~p~n", [send(a_name, x), [next() || _ <- [1, 2, 3]]]),
    {Gone, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, _, _, _} -> ok end,
    io:format("~p ~p~n", [send(Gone, x), send(no_such_name, x)]),
    io:format("~p~n", [thread(200)]),
    io:format("~p~n", [[N || _ <- lists:seq(1, 200), {from_thread, N} <- [next()]] =:= lists:seq(1, 200)]),
    tokens(),
    resources(),
    monitors(),
    io:format("~p~n", [steps(0, x)]),
    io:format("~p~n", [steps(100, {kept, "as it is"})]),
    io:format("~p~n", [try steps(-1, why) catch C:R:T -> {C, R, hd(T), element(2, hd(tl(T)))} end]),
    io:format("~p~n", [[begin erlang:garbage_collect(), steps(N, [N]) end || N <- lists:seq(1, 9)]]),
    io:format("~p~n", [slices()]),
    os:putenv("NIF_TEST", "value"),
    io:format("~w~n", [misc()]),
    [U, P, M, {_, _, _}, {_, _, _}] = times(),
    io:format("~p~n", [is_integer(U) andalso P > 0 andalso M > 0]),
    Small = [<<"abc">>, <<>>, <<"defgh">>],
    Large = [binary:copy(<<N>>, 100) || N <- lists:seq(1, 20)],
    io:format("~w~n", [queue(Small, 0)]),
    io:format("~w~n", [queue(Small, 4)]),
    io:format("~w~n", [[erlang:phash2(queue(Large, S)) || S <- [0, 99, 100, 1999]]]),
    io:format("~w~n", [try queue(Small, 9) catch error:E -> E end]),
    io:format("~w~n", [try queue([a], 0) catch error:E2 -> E2 end]).

next() -> receive X -> X after 5000 -> timeout end.

%% The token of sequential tracing goes with a message that has an environment of its own.
tokens() ->
    Self = self(),
    Receiver = spawn(fun() -> Self ! {tokens, [begin receive _ -> ok end,
                                                     [seq_trace:get_token(P) || P <- [label, serial]] end
                                               || _ <- lists:seq(1, 9)]} end),
    seq_trace:set_token(label, 17),
    seq_trace:set_token(send, true),
    {1, 1, 1} = send(Receiver, first),
    {1, 1, 1} = send_dirty(Receiver, second),
    Own = seq_trace:set_token([]),
    send(Receiver, third),
    io:format("~w ~w~n", [[element(N, Own) || N <- [1, 2, 3, 5]], receive {tokens, Tokens} -> Tokens end]),
    seq_trace:set_token([]).

resources() ->
    A = create(plain, 1),
    B = create(watched, 2),
    io:format("~p~n", [{number(A), number(B), is_reference(A), A =:= B, element(1, catch number(make_ref()))}]),
    io:format("~p~n", [try number(x) catch error:E -> E end]),
    %% Terms of one object are equal wherever they have been.
    self() ! A,
    Same = next(),
    [{_, FromEts}] = begin T = ets:new(t, []), ets:insert(T, {1, A}), ets:lookup(T, 1) end,
    io:format("~p~n", [{Same =:= A, FromEts =:= A, maps:is_key(Same, #{A => 1}), number(FromEts)}]),
    io:format("~p~n", [living()]),
    number(B),
    drop(),
    %% In a process of their own, which ends.
    {Pid, Ref} = spawn_monitor(fun() -> All = [create(plain, -1) || _ <- lists:seq(1, 100)],
                                       exit({living() >= 100, length(All)}) end),
    receive {'DOWN', Ref, _, Pid, Reason} -> io:format("~p~n", [Reason]) end,
    %% A hundred thousand leave nothing.
    [create(plain, -1) || _ <- lists:seq(1, 100000)],
    ets:delete(T),
    erlang:garbage_collect(),
    io:format("~p~n", [wait_for(0)]).

%% Objects are destroyed when the last term is gone.
drop() ->
    {Pid, Ref} = spawn_monitor(fun() ->
                                       create(plain, 7),
                                       erlang:garbage_collect(),
                                       io:format("~p~n", [next()]),
                                       _ = create(watched, 8),
                                       erlang:garbage_collect(),
                                       io:format("~p~n", [next()])
                               end),
    receive {'DOWN', Ref, _, Pid, normal} -> ok end.

wait_for(N) -> wait_for(N, 200).
wait_for(_, 0) -> {still, living()};
wait_for(N, Tries) ->
    case living() of
        L when L =< N + 2 -> all_gone;
        _ -> receive after 10 -> erlang:garbage_collect(), wait_for(N, Tries - 1) end
    end.

monitors() ->
    Object = create(watched, 42),
    Plain = create(plain, -1),
    Sleeper = spawn(fun() -> receive stop -> ok end end),
    io:format("~p~n", [{watch(Object, Sleeper), watch(Plain, Sleeper)}]),
    Sleeper ! stop,
    io:format("~p~n", [receive {destroyed, _} = Earlier -> Earlier end]),
    io:format("~p~n", [receive {down, _} = Gone -> Gone end]),
    io:format("~p~n", [{unwatch(Object), watch(Object, Sleeper)}]),
    Other = spawn(fun() -> receive stop -> ok end end),
    io:format("~p~n", [{watch(Object, Other), unwatch(Object), unwatch(Object)}]),
    {_, Ref} = {monitor(process, Other), monitor(process, Other)},
    exit(Other, kill),
    receive {'DOWN', Ref, _, _, killed} -> ok end,
    receive {'DOWN', _, _, _, killed} -> ok end,
    io:format("~p~n", [receive X -> X after 50 -> nothing end]),
    %% An object that goes takes its monitors along.
    Third = spawn(fun() -> receive stop -> ok end end),
    {_, R} = spawn_monitor(fun() -> ok = watch(create(watched, -1), Third) end),
    receive {'DOWN', R, _, _, normal} -> ok end,
    exit(Third, kill),
    io:format("~p~n", [receive Y -> Y after 50 -> nothing end]),
    number(Object), number(Plain).
