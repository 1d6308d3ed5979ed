%% In which order the parts of a match specification are worked out, and what its actions leave behind.
-module(trace_spec_order).
-export([main/1, f/2, g/1]).

f(A, B) -> g({A, B}).
g(X) -> X.

main(_) ->
    M = ?MODULE,
    erlang:system_flag(trace_control_word, 0),
    io:format("order~n"),
    %% {set_tcw, N} gives the former word.
    [shown(call, [{{M, f, 2}, [{'_', [], [{set_tcw, 0}, {message, Term}]}]}], fun() -> f(1, 2) end)
     || Term <- [{{{set_tcw, 1}, {set_tcw, 2}, {get_tcw}}}, [{set_tcw, 1}, {set_tcw, 2}, {get_tcw}],
                 [{get_tcw} | {set_tcw, 3}], #{a => {set_tcw, 1}, b => {set_tcw, 2}},
                 {'-', {set_tcw, 5}, {set_tcw, 7}}, {'==', {get_tcw}, {set_tcw, 1}},
                 {'and', {'==', {set_tcw, 1}, 0}, {'==', {set_tcw, 2}, 0}},
                 {'or', {'==', {set_tcw, 1}, 0}, {'==', {set_tcw, 2}, 0}},
                 {'andalso', {'==', {set_tcw, 1}, 0}, {'==', {set_tcw, 2}, 1}}, {'-', 10, 3}, {element, 2, {{a, b}}},
                 {is_record, {{a, 1}}, a, 2}, {binary_part, <<"abcd">>, 1, 2}]],
    io:format("the list of arguments that a guard has looked at~n"),
    shown(call, [{{M, f, 2}, [{'_', [{'==', {hd, '$_'}, none}], []},
                              {'_', [{is_list, '$_'}, {is_list, [1, 2, 3, {length, '$_'}]}],
                               [{message, [{get_tcw}, '$_', [a, b, c], '$_']}]}]}],
          fun() -> f([1, 2], {3}) end),
    io:format("no message, silence~n"),
    Both = [call, return_to],
    [shown(Flags, [{{M, f, 2}, [{'_', [], Body}]}], fun() -> f(1, 2), f(3, 4) end)
     || {Flags, Body} <- [{Both, [{message, false}]}, {Both, [{return_trace}, {message, false}]},
                          {Both, [{silent, true}, {return_trace}]}, {[call, silent], [{return_trace}, {silent, false}]},
                          {[silent | Both], [{silent, false}]}, {[call], [{disable_trace, call}, {return_trace}]},
                          {[call], [{trace, [call], []}]}, {Both, [{disable_trace, call}]}]],
    shown(Both, [{{M, f, 2}, [{'_', [], [{return_trace}]}]}, {{M, g, 1}, [{'_', [], [{silent, true}]}]}],
          fun() -> [f(1, 2)] end),
    io:format("what trace gives~n"),
    [shown(Flags, [{{M, f, 2}, [{'_', [], [{message, {{Action, Action}}}]}]}], fun() -> f(1, 2) end)
     || {Flags, Action} <- [{[call], {trace, [], []}}, {[call], {trace, [], [silent]}}, {[call], {trace, [], [send]}},
                            {[call], {trace, [], [nonsense]}}, {[call], {trace, [], [cpu_timestamp]}},
                            {[call], {enable_trace, send}}, {[call], {enable_trace, {self}, nonsense}},
                            {[call], {disable_trace, no_such_name, send}}]],
    io:format("who is told of messages~n"),
    [begin
         erlang:trace_pattern(send, Spec, []),
         shown([send | Flags], [], fun() -> self() ! hello, receive hello -> ok end end),
         erlang:trace_pattern(send, true, [])
     end || {Flags, Spec} <- [{[silent], true}, {[silent], [{'_', [], []}]}, {[], [{'_', [], [{silent, true}]}]},
                              {[], [{'_', [], [{enable_trace, monotonic_timestamp}]}]}]],
    io:format("no receivers~n"),
    shown([send], [], fun() -> catch no_such_name ! 1, catch 17 ! 2, catch {a, b, c} ! 3, {no_such_name, node()} ! 4 end).

shown(Flag, Patterns, Work) when is_atom(Flag) -> shown([Flag], Patterns, Work);
shown(Flags, Patterns, Work) ->
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> Work() end end),
    [erlang:trace_pattern(MFA, Spec, [local]) || {MFA, Spec} <- Patterns],
    1 = erlang:trace(Pid, true, Flags),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, normal} -> ok end,
    D = erlang:trace_delivered(all),
    receive {trace_delivered, all, D} -> ok end,
    [erlang:trace_pattern(MFA, false, [local]) || {MFA, _} <- Patterns],
    io:format("~0p~n", [told()]).

told() ->
    receive M -> [list_to_tuple([kind(E) || E <- tl(tuple_to_list(M))]) | told()] after 0 -> [] end.
kind(Pid) when is_pid(Pid) -> pid;
kind(Time) when is_integer(Time), abs(Time) > 1000 -> time;
kind(Other) -> Other.
