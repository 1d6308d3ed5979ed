%% What trace_stress.py runs: trace patterns are set, changed and removed over all functions of the modules
%% ts_N at a high rate, these modules are loaded again and purged, and 8 processes run them. Beside that,
%% windows: a call of ts_mark:mark/1 after a pattern has been set and before it is cleared has to be
%% recorded once, any other not at all. Each line says what was called.
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
    windows(Marker, 1, Ends),
    [receive {done, What, N} -> io:format("~w ~w~n", [What, N]) end || _ <- Helpers],
    [begin unlink(P), exit(P, kill) end || P <- [Marker | Runners]],
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

windows(Marker, N, Ends) ->
    case erlang:monotonic_time(millisecond) >= Ends of
        true -> ok;
        false ->
            Flag = any({local, global}),
            mark(Marker, out, 2 * N),
            1 = erlang:trace_pattern({ts_mark, mark, 1}, true, [Flag]),
            mark(Marker, in, 2 * N),
            1 = erlang:trace_pattern({ts_mark, mark, 1}, any({true, [{'_', [], []}]}), [Flag]),
            mark(Marker, in, 2 * N + 1),
            1 = erlang:trace_pattern({ts_mark, mark, 1}, false, [Flag]),
            mark(Marker, out, 2 * N + 1),
            windows(Marker, N + 1, Ends)
    end.
