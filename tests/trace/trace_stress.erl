%% What trace_stress.py runs: trace patterns are set, changed and removed over all functions of the modules
%% ts_N at a high rate, these modules are loaded again and purged, and 8 processes run them. Beside that,
%% windows: a call of ts_mark:mark/1 after a pattern has been set and before it is cleared has to be
%% told once, any other not at all, of one process to the recorder and of another by messages. Each line says what was called.
-module(trace_stress).
-export([main/1]).

main([Folder, Modules, Seed, Seconds]) ->
    Count = list_to_integer(Modules),
    rand:seed(exsss, {list_to_integer(Seed), 1, 2}),
    Names = [name(N) || N <- lists:seq(0, Count - 1)],
    Code = [{M, [element(2, file:read_file(lists:concat([Folder, "/", V, "/", M, ".beam"]))) || V <- [v1, v2]]}
            || M <- [ts_mark | Names]],
    [{module, M} = code:load_binary(M, "none", B) || {M, [B | _]} <- Code],
    Ends = erlang:monotonic_time(millisecond) + 1000 * list_to_integer(Seconds),
    Runners = [spawn_link(fun() -> seed(N), run(list_to_tuple(Names), 1) end) || N <- lists:seq(1, 8)],
    [erlang:trace(R, true, [call, return_to, {tracer, flight_recorder, []}]) || R <- Runners],
    Self = self(),
    Helpers = [spawn_link(fun() -> seed(100), Self ! {done, changes, change(Names, Ends, 0)} end),
               spawn_link(fun() -> seed(101), Self ! {done, loads, load(Code, Ends, 0)} end)],
    Marker = spawn_link(fun marker/0),
    1 = erlang:trace(Marker, true, [call, {tracer, flight_recorder, []}]),
    Told = spawn_link(fun marker/0),
    1 = erlang:trace(Told, true, [call]),
    windows(Marker, Told, 1, Ends),
    [receive {done, What, N} -> io:format("~w ~w~n", [What, N]) end || _ <- Helpers],
    [begin unlink(P), exit(P, kill) end || P <- [Marker, Told | Runners]],
    erlang:trace_pattern({'_', '_', '_'}, false, [local, call_count, call_time]),
    io:format("end~n").

name(N) -> list_to_atom("ts_" ++ integer_to_list(N)).
seed(N) -> rand:seed(exsss, {N, rand:uniform(1000), 3}).
any(Tuple) -> element(rand:uniform(tuple_size(Tuple)), Tuple).

%% Calls by every way there is.
run(Names, N) ->
    M = any(Names),
    N = M:f(N),
    [_ | _] = M:rec(5),
    {'EXIT', {oops, _}} = (catch M:bad(N)),
    N = (M:fu())(N),
    run(Names, N + 1).

%% None of these writes a record for each call: the windows' records are to stay.
change(Names, Ends, Count) ->
    case erlang:monotonic_time(millisecond) >= Ends of
        true -> Count;
        false ->
            M = any(list_to_tuple(Names)),
            F = any({{M, '_', '_'}, {M, f, 1}, {M, rec, '_'}}),
            {Spec, Flags} =
                any({{[{'_', [{'=:=', 1, 2}], []}], [local]},
                     {[{'_', [], [{message, false}, {return_trace}, {silent, true}]}], [local]},
                     {[{'_', [], [{message, false}]}], [global]},
                     {true, [call_count]}, {true, [call_time]}, {pause, [call_count]},
                     {false, [local]}, {false, [global]}, {false, [call_count]}, {false, [call_time]},
                     {false, [local, call_count, call_time]}}),
            erlang:trace_pattern(F, Spec, Flags),
            change(Names, Ends, Count + 1)
    end.

load(Code, Ends, Count) ->
    case erlang:monotonic_time(millisecond) >= Ends of
        true -> Count;
        false ->
            {M, Versions} = any(list_to_tuple(Code)),
            case code:soft_purge(M) of
                true -> {module, M} = code:load_binary(M, "none", any(list_to_tuple(Versions)));
                false -> ok
            end,
            load(Code, Ends, Count + 1)
    end.

marker() ->
    receive
        {From, Kind, Window, Count} ->
            [ts_mark:mark({Kind, Window, I}) || I <- lists:seq(1, Count)],
            From ! {self(), called}
    end,
    marker().
mark(Marker, Kind, Window) ->
    Count = rand:uniform(20),
    Marker ! {self(), Kind, Window, Count},
    receive {Marker, called} -> ok end,
    io:format("~w ~w ~w~n", [Kind, Window, Count]).

%% Who is told by messages: in the order of the calls, and nothing after what trace_delivered/1 answers.
mark_told(Told, Kind, Window) ->
    Count = rand:uniform(20),
    Told ! {self(), Kind, Window, Count},
    receive {Told, called} -> [{Kind, Window, I} || I <- lists:seq(1, Count)] end.
delivered(Told) ->
    Ref = erlang:trace_delivered(Told),
    receive {trace_delivered, Told, Ref} -> messages(Told) end.
messages(Told) ->
    receive {trace, Told, call, {ts_mark, mark, [What]}} -> [What | messages(Told)]
    after 0 -> []
    end.

windows(Marker, Told, N, Ends) ->
    case erlang:monotonic_time(millisecond) >= Ends of
        true -> ok;
        false ->
            Flag = any({local, global}),
            mark(Marker, out, 2 * N),
            mark_told(Told, out, N),
            1 = erlang:trace_pattern({ts_mark, mark, 1}, true, [Flag]),
            mark(Marker, in, 2 * N),
            Expected = mark_told(Told, in, 2 * N),
            1 = erlang:trace_pattern({ts_mark, mark, 1}, any({true, [{'_', [], []}]}), [Flag]),
            mark(Marker, in, 2 * N + 1),
            Then = mark_told(Told, in, 2 * N + 1),
            1 = erlang:trace_pattern({ts_mark, mark, 1}, false, [Flag]),
            Heard = delivered(Told),
            mark(Marker, out, 2 * N + 1),
            mark_told(Told, out, 2 * N + 1),
            Late = delivered(Told),
            All = Expected ++ Then,
            io:format("told ~w ~w~n", [N, case {Heard, Late} of
                                              {All, []} -> right;
                                              _ -> {expected, All, heard, Heard, late, Late}
                                          end]),
            windows(Marker, Told, N + 1, Ends)
    end.
