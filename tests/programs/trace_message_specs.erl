%% Match specifications for messages: silence that one asks for has its effect at once, and what it leaves of
%% the flags. Those for receives know no actions of who sends or calls.
-module(trace_message_specs).
-export([start/0]).

start() ->
    [one(Event, Body) || Event <- [send, 'receive'], Body <- bodies()],
    [one(Event, Spec) || Event <- [send, 'receive'], Spec <- [true, false, restart, [], [{'_', [], []}]]],
    [{Event, F, catch_error(fun() -> erlang:trace_pattern(Event, true, F) end)}
     || Event <- [send, 'receive'], F <- [[local], [global], [meta], [call_count], []]].

bodies() ->
    [{body, B} || B <- [[{message, false}], [{message, true}], [{message, {const, extra}}], [false],
                        [{silent, true}], [{silent, false}], [{silent, true}, {message, extra}],
                        [{message, extra}, {silent, true}],
                        [{return_trace}], [{exception_trace}], [{caller}], [{caller_line}],
                        [{message, {is_seq_trace}}], [{message, {get_seq_token}}],
                        [{message, {get_tcw}}], [{process_dump}], [{enable_trace, procs}],
                        [{disable_trace, procs}], [{trace, [], [procs]}],
                        [{set_seq_token, label, 1}, {set_seq_token, label, 2}]]].

one(Event, {body, Body}) ->
    Terms = case Event of send -> ['_', '_']; 'receive' -> ['_', '_', '_'] end,
    one(Event, [{Terms, [], Body}]);
one(Event, Spec) ->
    Main = self(),
    Pid = spawn(fun Loop() -> receive {go, Ref} -> Main ! {went, Ref}, Loop() end end),
    erlang:trace(Pid, true, [Event]),
    io:format("~w ~w ~w~n", [Event, Spec, catch_error(fun() -> erlang:trace_pattern(Event, Spec, []) end)]),
    goes(Pid),
    erlang:trace_pattern(Event, true, []),
    io:format("    pattern off~n"),
    goes(Pid),
    {flags, Flags} = erlang:trace_info(Pid, flags),
    io:format("    ~w~n", [lists:sort(Flags)]),
    erlang:trace(Pid, false, [all]),
    exit(Pid, kill).

goes(Pid) ->
    Ref = make_ref(),
    Pid ! {go, Ref},
    receive {went, Ref} -> ok end,
    Delivered = erlang:trace_delivered(Pid),
    told(Pid, Ref, Delivered).

told(Pid, Ref, Delivered) ->
    receive
        {trace_delivered, Pid, Delivered} -> ok;
        Event when element(1, Event) =:= trace, element(2, Event) =:= Pid ->
            [trace, _ | What] = tuple_to_list(Event),
            io:format("    ~w~n", [[plain(T, Ref) || T <- What]]),
            told(Pid, Ref, Delivered)
    end.

plain({What, Ref}, Ref) -> What;
plain(Pid, _) when is_pid(Pid) -> main;
plain(Other, _) -> Other.

catch_error(Fun) -> try Fun() catch error:Reason -> Reason end.
