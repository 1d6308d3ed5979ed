%% Functions of the VM that raise while they are traced: what passes the frames of their callers is told in
%% order, a return_to comes once and behind it, and one that is called in tail position returns to whom its
%% caller would have. What is undefined is raised by error_handler, with calls that are traced.
-module(trace_exceptions_of_bifs).
-export([start/0, top/2, jump/1, call/1, id/1, match/2, clause/2, undefined/1, reverse/2]).

start() ->
    logger:set_primary_config(level, none),
    [[traced(Flags, Way, Name, Fun) || {Name, Fun} <- cases(), Way <- [catches, lets_pass]]
     || Flags <- [[call], [call, return_to, procs]]],
    ok.

cases() ->
    [{exit, fun() -> exit(id(done)) end},
     {error, fun() -> error(id(1.0)) end},
     {error_with_arguments, fun() -> error(value, id([])) end},
     {throw, fun() -> throw(id(value)) end},
     {badarg, fun() -> value ++ id([1]) end},
     {ends_tail_position, fun() -> [17] ++ id(seventeen) end},
     {badmatch, fun() -> match(value, id(other)) end},
     {function_clause, fun() -> clause(value, id(other)) end},
     {undef, fun() -> undefined(id(value)) end},
     {reverse, fun() -> reverse([a | b], id([])) end},
     {apply_exit, fun() -> apply(erlang, exit, id([done])) end},
     {apply_error, fun() -> apply(erlang, error, id([done])) end},
     {apply_append, fun() -> apply(erlang, '++', id([[a], b])) end},
     {apply_undef, fun() -> apply(?MODULE, not_there, id([value])) end},
     {apply_fun, fun() -> apply(fun(A) -> error(A) end, id([value])) end},
     {apply_external_fun, fun() -> apply(fun erlang:error/1, id([value])) end}].

traced(Flags, Way, Name, Fun) ->
    io:format("~w ~w ~w~n", [Flags, Way, Name]),
    {Pid, Ref} = spawn_monitor(fun() -> receive go -> top(Way, Fun) end end),
    erlang:trace(Pid, true, Flags),
    patterns([{'_', [], [{exception_trace}]}]),
    Pid ! go,
    receive {'DOWN', Ref, process, Pid, _} -> ok end,
    patterns(false),
    Delivered = erlang:trace_delivered(all),
    told(Delivered).

patterns(Spec) ->
    [erlang:trace_pattern(Mfa, Spec, [local])
     || Mfa <- [{erlang, exit, 1}, {erlang, error, 1}, {erlang, error, 2}, {erlang, throw, 1},
                {erlang, '++', 2}, {lists, reverse, 2},
                {?MODULE, top, 2}, {?MODULE, jump, 1}, {?MODULE, call, 1}, {?MODULE, id, 1},
                {?MODULE, match, 2}, {?MODULE, clause, 2}, {?MODULE, undefined, 1},
                {?MODULE, reverse, 2}]].

told(Delivered) ->
    receive
        {trace_delivered, all, Delivered} -> ok;
        Event when element(1, Event) =:= trace ->
            [trace, _ | What] = tuple_to_list(Event),
            io:format("    ~w~n", [plain(What)]),
            told(Delivered)
    end.

plain(F) when is_function(F) -> 'fun';
plain({M, F, A, Place}) when is_list(Place) -> {M, F, A};
plain([H | T]) -> [plain(H) | plain(T)];
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain(Other) -> Other.

top(catches, Fun) ->
    try jump(Fun) of
        Value -> {value, Value}
    catch
        Class:Reason -> {Class, Reason}
    end;
top(lets_pass, Fun) ->
    {value, jump(Fun)}.

jump(Fun) -> call(Fun).
call(Fun) -> Fun().
id(X) -> X.
match(A, B) -> A = B.
clause(A, A) -> A.
undefined(X) -> ?MODULE:undefined(X, X).
reverse(A, B) ->
    R = lists:reverse(A, B),
    _ = (catch abs(A)),
    R.
