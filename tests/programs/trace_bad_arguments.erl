%% What trace/3, trace_pattern/3, trace_info/2 and match_spec_test/3 say of arguments that are wrong,
%% of two wrong ones of the first that is looked at; and what trace_info/2 answers for on_load.
-module(trace_bad_arguments).
-export([main/1, f/1]).

f(X) -> X.

main(_) ->
    M = ?MODULE,
    Spec = [{'_', [], [{return_trace}]}],
    Tracee = spawn(fun() -> receive after infinity -> ok end end),
    Tracer = spawn(fun() -> receive after infinity -> ok end end),
    {Gone, Ref} = spawn_monitor(fun() -> ok end),
    receive {'DOWN', Ref, process, Gone, _} -> ok end,
    io:format("trace/3~n"),
    [show(Names, erlang, trace, [Who, How, Flags])
     || {Names, Who, How, Flags} <-
            [{flag_and_process, Gone, true, [nonsense]}, {flag_and_how, Tracee, 'maybe', [nonsense]},
             {process_and_how, Gone, 'maybe', [call]}, {gone, Gone, true, [call]},
             {tracer, Tracee, true, [{tracer, 1}]}, {tracer_1, Tracee, true, [{tracer}]},
             {empty_tuple, Tracee, true, [{}]}, {improper, Tracee, true, [call | send]},
             {cpu_timestamp, Tracee, true, [cpu_timestamp]}, {cpu_timestamp, new, true, [cpu_timestamp]},
             {name, nonsense, true, [call]}, {ok, Tracee, true, [call, send, {tracer, Tracer}]},
             {other_tracer, Tracee, true, [procs]}, {other_tracer_off, Tracee, false, [call, {tracer, self()}]},
             {off, Tracee, false, [send]}, {same_tracer_off, Tracee, false, [call, {tracer, Tracer}]}]],
    io:format("flags in their order~n"),
    erlang:trace(Tracee, true, [all]),
    show(flags, erlang, trace_info, [Tracee, flags]),
    erlang:trace(Tracee, false, [all]),
    show(flags, erlang, trace_info, [Tracee, flags]),
    io:format("trace_pattern/3~n"),
    [show(Names, erlang, trace_pattern, [Which, How, Flags])
     || {Names, Which, How, Flags} <-
            [{spec_and_flags, {M, f, 1}, nonsense, [nonsense]}, {flags_and_which, nonsense, true, [nonsense]},
             {counter_spec, {M, f, 1}, Spec, [call_count]}, {counter_and_which, nonsense, Spec, [call_time]},
             {local_global, {M, f, 1}, true, [local, global]}, {negative, {M, f, -1}, true, [local]},
             {many, {M, f, 300}, true, [local]}, {wildcard, {M, '_', 1}, true, [local]},
             {which, {M, f}, true, [local]}, {which, nonsense, true, [local]}, {send_flag, send, true, [local]},
             {send_pause, send, pause, []}, {send_spec, send, [{'_', [], [{caller}]}], []},
             {receive_spec, 'receive', [{'_', [], [{get_seq_token}]}], []},
             {receive_message, 'receive', [{'_', [], [{message, x}]}], []}, {receive_on, 'receive', true, []}]],
    io:format("trace_info/2~n"),
    [show(Names, erlang, trace_info, [Which, Item])
     || {Names, Which, Item} <-
            [{item_and_process, Gone, traced}, {gone, Gone, flags}, {name, nonsense, flags}, {number, 1, flags},
             {new, new, traced}, {two, {M, f}, traced}, {no_function, {M, no_such, 1}, [any, thing]},
             {negative, {M, f, -1}, all}, {untraced, {M, f, 1}, {any, thing}}, {send, send, all}]],
    erlang:trace_pattern({M, f, 1}, true, [local]),
    [show(traced, erlang, trace_info, [{M, f, 1}, Item]) || Item <- [meta, meta_match_spec, all, nonsense]],
    io:format("on_load~n"),
    [begin
         show(Flags, erlang, trace_pattern, [on_load, How, Flags]),
         [show(Flags, erlang, trace_info, [on_load, Item])
          || Item <- [traced, match_spec, meta_match_spec, call_count, all, nonsense]]
     end || {How, Flags} <- [{false, []}, {true, []}, {Spec, [local]}, {true, [call_count]}, {pause, [call_time]},
                             {true, [meta]}, {false, []}, {false, [local]}, {false, [meta, call_count]},
                             {restart, [call_count]}]],
    io:format("match_spec_test/3~n"),
    [show(Kind, erlang, match_spec_test, [Term, S, Kind])
     || {Term, S, Kind} <-
            [{[], [{'_', [{'>', '$1', '$2'}, {no_such, '$3'}], [{message}]}], trace},
             {[], [{'_', a, [{message}]}], trace}, {[], [{'_', [], a}], trace}, {{}, [{'_', [], a}], table},
             {[], [{a, [], []}], trace}, {[], [{#{'$1' => 1}, [], []}], trace}, {[], [{#{'_' => 1}, [], []}], trace},
             {[], [{#{a => 1}, [], []}], trace}, {[a], [{{'$1'}, [], []}], trace}, {[], [{[], [], []}], trace},
             {[], [{['_' | '_'], [], []}], trace}, {[], [{a, [], []}, {['_' | '_'], [], []}], trace},
             {[], [{a, [], []}, {'_', []}], trace}, {[], [{'_', [{set_tcw, 1}], [{get_tcw, 1}]}], trace},
             {{}, [{'_', [], [{get_tcw}]}], table}, {{}, [{'_', [], [{caller}]}], table},
             {[], [{'_', [{caller}, {self, 1}], []}], trace}, {[], [{'_', [], [{const}, {'$1', 2}, {}]}], trace},
             {[], [{'_', [], [{no_such, list_to_atom(lists:duplicate(120, $x))}, {'not a name'}]}], trace},
             {[], [{'_', [], [{list_to_atom(lists:duplicate(120, $x))}]}], trace},
             {[], [{'_', [], [{return_trace}, {exception_trace}]}], trace},
             {[], [{'_', [], [{2.5}, {"text\n\"", "t\e"}, {<<"bits">>, <<>>}, {#{a => "b"}}, {<<1:3>>, <<200>>}]}], trace},
             {[], [{'_', [], [{message, {{{set_tcw, a}, {set_tcw, 1}}}}]}], trace},
             {[], [{'_', [], [{exception_trace}]}], trace}, {[1 | 2], [{['$1'], [], [{message, '$1'}]}], trace},
             {a, [{'_', [], []}], trace}, {{}, [{'_', [], [1]}], nonsense},
             {{1}, [{#{{'$1'} => 1}, [], [1]}], table}, {[], [{'_', [], [{'andthen', true, false}]}], trace}]].

show(Name, Module, Function, Arguments) ->
    Text = try apply(Module, Function, Arguments)
           catch Class:Reason:Stack ->
                   [{_, _, _, Location} | _] = Stack,
                   case proplists:get_value(error_info, Location) of
                       #{module := Explainer} -> {Class, Reason, Explainer:format_error(Reason, Stack)};
                       undefined -> {Class, Reason}
                   end
           end,
    io:format("~p: ~0p~n", [Name, nameless(Text)]).

nameless(Pid) when is_pid(Pid) -> pid;
nameless([H | T]) -> [nameless(H) | nameless(T)];
nameless(Tuple) when is_tuple(Tuple) -> list_to_tuple(nameless(tuple_to_list(Tuple)));
nameless(Other) -> Other.
