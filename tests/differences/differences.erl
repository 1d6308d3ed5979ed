%% The rows of docs/differences_with_beam.md, run: each function shows one difference by what it answers.
%% differences_test.py has the answers of both sides. Everything a row needs it makes and takes away itself.
-module(differences).
-export([main/1, traced/1, deep/1, sum/1, skip/2, tuple_call/1]).

main(Rows) ->
    %% Before a row starts it; asking for its name would.
    persistent_term:put(kernel_ran, [x || P <- processes(), process_info(P, registered_name) =:=
                                                                {registered_name, kernel_sup}] =/= []),
    lists:foreach(fun(Row) -> io:format("~s: ~tw~n", [Row, answer(list_to_existing_atom(Row))]) end, Rows),
    halt(0).

%% Each in a process of its own: flags and dictionaries end with it.
answer(Row) ->
    {Pid, Ref} = spawn_monitor(fun() -> exit({answer, row(Row)}) end),
    receive
        {'DOWN', Ref, process, Pid, {answer, Answer}} -> Answer;
        {'DOWN', Ref, process, Pid, Reason} -> {failed, Reason}
    after 20000 -> exit(Pid, kill), no_answer
    end.

%% ---- tracing ------------------------------------------------------------------------------------------

%% The breakpoint counter of a function of a module that was loaded again.
row(traced_modules) ->
    Module = module(fun_of_one),
    erlang:trace_pattern({Module, one, 0}, true, [local, call_count]),
    reload(Module),
    Module:one(),
    element(2, erlang:trace_info({Module, one, 0}, call_count));
%% Calls in old code, told after the module was loaded again.
row(old_code) ->
    Module = module(fun_of_loop),
    Pid = spawn(Module, loop, []),
    erlang:trace_pattern({Module, loop, 0}, true, [local]),
    reload(Module),
    erlang:trace(Pid, true, [call]),
    [ask(Pid) || _ <- lists:seq(1, 5)],
    Done = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Done} -> ok end,
    exit(Pid, kill),
    length([x || {trace, _, call, _} <- messages()]);
%% How many returns are told of calls that wait for each other.
row(trace_frames) ->
    logger:set_primary_config(level, none),
    Calls = 100500,
    Tracer = spawn_link(fun() -> count_returns(0) end),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> deep(Calls) end end),
    erlang:trace(Pid, true, [call, {tracer, Tracer}]),
    erlang:trace_pattern({?MODULE, deep, 1}, [{'_', [], [{return_trace}]}], [local]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    Done = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Done} -> ok end,
    Tracer ! {self(), how_many},
    receive {returns, N} -> N end;
row(flight_recorder) ->
    try erlang:trace(self(), true, [call, {tracer, flight_recorder, []}]) of
        1 -> taken
    catch
        error:undef -> undef
    end;
row(patterns_of_bif) ->
    [is_told(Set, Cleared) || Set <- [local, global, meta], Cleared <- [local, global, meta], Cleared =/= Set];
row(trace_sessions) ->
    case code:ensure_loaded(trace) of
        {module, trace} -> erlang:function_exported(trace, session_create, 3);
        {error, _} -> false
    end;
row(call_memory) ->
    try erlang:trace_pattern({?MODULE, traced, 1}, true, [local, call_memory]) of
        N ->
            {all, Items} = erlang:trace_info({?MODULE, traced, 1}, all),
            erlang:trace_pattern({?MODULE, traced, 1}, false, [local, call_memory]),
            {N, lists:keymember(call_memory, 1, Items)}
    catch
        error:badarg -> badarg
    end;
row(answers_of_signals) ->
    Self = self(),
    Other = spawn(fun() -> receive stop -> ok end end),
    {Pid, Ref} = spawn_monitor(fun() ->
        receive go -> ok end,
        is_process_alive(Other),
        Self ! asked,
        receive stop -> ok end
    end),
    erlang:trace(Pid, true, ['receive']),
    Pid ! go,
    receive asked -> ok end,
    Done = erlang:trace_delivered(Pid),
    receive {trace_delivered, Pid, Done} -> ok end,
    Told = length([M || {trace, _, 'receive', M} <- messages(), M =/= go]),
    Pid ! stop, Other ! stop,
    receive {'DOWN', Ref, process, Pid, _} -> Told end;
row(current_stacktrace) ->
    case erlang:match_spec_test([], [{'_', [], [{message, {current_stacktrace}}]}], trace) of
        {ok, _, _, _} -> there;
        {error, _} -> not_there
    end;

%% ---- terms ---------------------------------------------------------------------------------------------

row(small_integers) ->
    erts_debug:flat_size((1 bsl 59) + length([]));
row(floats) -> erts_debug:flat_size(math:sqrt(2.0));

%% ---- errors ---------------------------------------------------------------------------------------------

row(operator_frame) ->
    try sum(self()) catch error:badarith:Stack -> element(2, hd(Stack)) end;
row(list_to_integer) ->
    %% Not a list that the compiler knows.
    try list_to_integer([C + 1024 || C <- "1"] ++ "2") catch error:badarg -> badarg end;
row(skip_backwards) ->
    ?MODULE:skip(<<1, 2>>, 1 bsl 58 - 1);
row(no_fun) ->
    try tuple_call({}) catch error:{badfun, _}:Stack -> length([x || {?MODULE, tuple_call, 1, _} <- Stack]) end;
row(token_serial) ->
    seq_trace:set_token(label, 1),
    [spawn(fun() -> ok end) || _ <- [1, 2]],
    {serial, {_, Own}} = seq_trace:get_token(serial),
    seq_trace:set_token([]),
    Own < 10;

%% ---- the rest -------------------------------------------------------------------------------------------

row(compiled_pattern) ->
    {ok, Pattern} = re:compile("a+b"),
    binary:match(element(5, Pattern), <<"a+b">>) =/= nomatch;
row(made_up_funs) ->
    Fun = fun(Digest) -> <<131, 112, 48:32, 1, Digest:128, 0:32, 0:32, 119, 1, $m, 97, 0, 97, 0,
                           88, 119, 13, "nonode@nohost", 1:32, 0:32, 0:32>> end,
    true = is_function(binary_to_term(Fun(0)), 1),
    try lists:foreach(fun(Digest) -> binary_to_term(Fun(Digest)) end, lists:seq(1, 1 bsl 18)), all
    catch error:badarg ->
        true = is_function(binary_to_term(Fun(0)), 1),  % those that are there are found again
        not_all
    end;
row(literal_collector) ->
    lists:any(fun(P) -> process_info(P, initial_call) =:= {initial_call, {erts_literal_area_collector, start, 0}} end,
              processes());
%% Whether it still has most of what it received.
row(large_messages) ->
    Self = self(),
    Pid = spawn_link(fun() ->
                             receive start -> ok end,
                             drop(),
                             Self ! element(2, process_info(self(), total_heap_size))
                     end),
    Large = lists:seq(1, 50000),  % 100,000 words
    [Pid ! {N, Large} || N <- lists:seq(20, 1, -1)],
    Pid ! start,
    receive Words -> Words > 1000000 end;
row(kernel_runs) ->
    persistent_term:get(kernel_ran).

%% ---- what rows use ---------------------------------------------------------------------------------------

drop() ->
    receive
        {1, _} -> ok;
        {_, _} -> drop()
    end.

traced(X) -> X.

deep(0) -> 0;
deep(N) -> 1 + deep(N - 1).

sum(X) -> X + 1.
skip(<<_:8, Rest/bits>>, Size) ->
    case Rest of
        <<_:Size/binary-unit:4, Left/bits>> -> Left;
        _ -> no_match
    end.

tuple_call(F) ->
    R = F(),
    [R].

%% Whether a tracer is told of a call under a pattern of one kind when another has been cleared.
is_told(Set, Cleared) ->
    Tracer = spawn_link(fun() -> receive {how_many, From} -> From ! {told, element(2, process_info(self(), message_queue_len))} end end),
    Function = {erlang, phash2, 1},
    erlang:trace_pattern(Function, true, [case Set of meta -> {meta, Tracer}; _ -> Set end]),
    erlang:trace_pattern(Function, false, [Cleared]),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> erlang:phash2(a) end end),
    erlang:trace(Pid, true, [call, {tracer, Tracer}]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    Delivered = erlang:trace_delivered(all),
    receive {trace_delivered, all, Delivered} -> ok end,
    Tracer ! {how_many, self()},
    IsTold = receive {told, N} -> N > 0 end,
    [erlang:trace_pattern(Function, false, [Kind]) || Kind <- [local, global, meta]],
    IsTold.

count_returns(N) ->
    receive
        {trace, _, return_from, _, _} -> count_returns(N + 1);
        {From, how_many} -> From ! {returns, N};
        _ -> count_returns(N)
    end.

messages() ->
    receive M -> [M | messages()] after 0 -> [] end.

ask(Pid) ->
    Pid ! {self(), ask},
    receive {Pid, answer} -> ok end.

module(fun_of_one) ->
    load(differences_one, [{function, 2, one, 0, [{clause, 2, [], [], [{atom, 2, ok}]}]}], [{one, 0}]);
%% loop() -> receive {From, ask} -> From ! {self(), answer}, loop() end.
module(fun_of_loop) ->
    L = 2,
    Receive =
        {'receive', L,
         [{clause, L, [{tuple, L, [{var, L, 'From'}, {atom, L, ask}]}], [],
           [{op, L, '!', {var, L, 'From'}, {tuple, L, [{call, L, {atom, L, self}, []}, {atom, L, answer}]}},
            {call, L, {atom, L, loop}, []}]}]},
    load(differences_loop, [{function, L, loop, 0, [{clause, L, [], [], [Receive]}]}], [{loop, 0}]).

load(Module, Functions, Exports) ->
    {ok, Module, Binary} =
        compile:forms([{attribute, 1, module, Module}, {attribute, 1, export, Exports} | Functions], []),
    put(Module, Binary),
    {module, Module} = code:load_binary(Module, "", Binary),
    Module.

reload(Module) ->
    {module, Module} = code:load_binary(Module, "", get(Module)).
