%% Expressions at the prompt: read, evaluated and shown as OTP's shell does, with its own erl_scan,
%% erl_parse and erl_eval. Variables are kept; so are the last results (v/1).
-module(minivm_eval).
-export([memory/0, number/1, next/1, bindings/1, variables/1, records/1, parse/2, loop/2, show/3]).

-record(memory, {bindings = erl_eval:new_bindings(),
                 dictionary = [],       % of the process that evaluates
                 records,               % table (minivm_records)
                 number = 1,            % of the next expression
                 %% Table: history (how many expressions are kept), results (how many results), catches (whether an
                 %% exception leaves the process that evaluates alive).
                 settings,
                 commands = []}).       % {Number, Expressions, {value, Value} | none}, newest first

memory() ->
    Settings = ets:new(settings, [public]),
    ets:insert(Settings, [{history, environment(shell_history_length, 20, fun is_integer/1)},
                          {results, environment(shell_saved_results, 20, fun is_integer/1)},
                          {catches, environment(shell_catch_exception, false, fun is_boolean/1)}]),
    #memory{records = minivm_records:new(), settings = Settings}.

%% What OTP's shell takes from stdlib's environment, here for each prompt.
environment(Key, Default, IsGood) ->
    case application:get_env(stdlib, Key) of
        {ok, Value} -> case IsGood(Value) of true -> Value; false -> Default end;
        undefined -> Default
    end.

setting(Name, #memory{settings = Settings}) -> ets:lookup_element(Settings, Name, 2).

number(#memory{number = N}) -> N.
next(#memory{number = N} = M) -> M#memory{number = N + 1}.
bindings(#memory{bindings = Bs}) -> erl_eval:bindings(Bs).
variables(#memory{bindings = Bs}) -> [V || {V, _} <- erl_eval:bindings(Bs)].
records(#memory{records = Table}) -> Table.

%% ---- reading ---------------------------------------------------------------------------------------------

%% What the text holds, each up to its dot: [{ok, Exprs} | {error, Text}]. `more`: the last has no dot yet.
%% Whole: nothing more comes, so that a dot may be missing.
parse(Chars, Whole) -> parse(Chars, Whole, []).

parse(Chars, Whole, Forms) ->
    case erl_scan:tokens([], Chars, {1, 1}, [text]) of
        {done, {ok, Tokens, _}, Rest} -> parse(Rest, Whole, [form(Tokens) | Forms]);
        {done, {eof, _}, _} -> lists:reverse(Forms);
        {done, {error, Error, _}, _} ->
            lists:reverse(Forms, [{error, located(Error)}]);
        {more, _} ->
            case {string:trim(strip_comments(Chars)), Whole} of
                {"", _} -> lists:reverse(Forms);
                {_, true} -> parse(Chars ++ "\n.\n", ends, Forms);
                {_, false} -> more;
                {_, ends} -> lists:reverse(Forms, [{error, "this ends in the middle of an expression"}])
            end
    end.

strip_comments(Chars) -> re:replace(Chars, "%.*", "", [global, unicode, {return, list}]).

form(Tokens) ->
    case erl_eval:extended_parse_exprs(Tokens) of
        {ok, Exprs} -> {ok, Exprs};
        {error, Error} -> {error, located(Error)}
    end.

located({{Line, Column}, Module, Why}) -> io_lib:format("~b:~b: ~ts", [Line, Column, Module:format_error(Why)]);
located({_, Module, Why}) -> Module:format_error(Why).

%% ---- evaluating ------------------------------------------------------------------------------------------

%% The process that evaluates. After an exception it ends, and the next one has its variables and its dictionary.
loop(Memory, Context) ->
    [put(Key, Value) || {Key, Value} <- Memory#memory.dictionary],
    wait(Memory, Context).

wait(Memory, Context) ->
    receive
        {evaluate, Session, Forms} ->
            case forms(Forms, Memory, Context) of
                {ok, Memory1} ->
                    Session ! {done, self(), {ok, Memory1}},
                    wait(Memory1, Context);
                {quit, _} ->
                    Session ! {done, self(), quit},
                    wait(Memory, Context);
                {refused, Text, Memory1} ->
                    show_traced(Context),
                    Session ! {done, self(), {refused, Text, Memory1}},
                    wait(Memory1, Context);
                {failed, Text, Memory1, Reason} ->
                    {links, Links} = process_info(self(), links),
                    [exit(Pid, Reason) || Pid <- Links, Pid =/= Session],
                    show_traced(Context),
                    Session ! {done, self(), {failed, Text, Memory1}}
            end
    end.

%% What was traced on the way stands in front of the result.
show_traced(#{session := Session}) ->
    Session ! {is_traced, self()},
    receive {is_traced, Tracer} -> minivm_trace:shown(Tracer) end;
show_traced(_) -> ok.

forms([], Memory, _) -> {ok, Memory};
forms([{error, Text} | _], Memory, _) -> refused(Text, Memory);
forms([{ok, Exprs0} | Rest], Memory, Context) ->
    case expanded(Exprs0, Memory) of
        {error, Text} -> refused(Text, Memory);
        Exprs ->
            try expressions(Exprs, Memory, Context) of
                {value, Value, Memory1} ->
                    show_traced(Context),
                    io:put_chars([show(Value, 1, short, Memory1, Context), $\n]),
                    Memory2 = Memory1#memory{dictionary = get()},
                    forms(Rest, remember(Exprs, {value, Value}, Memory2), Context);
                {error, {_, _, Why} = Error} ->
                    refused(located(Error), remember(Exprs, {value, {'EXIT', Why}}, Memory))
            catch
                throw:{minivm_quit, Ref} when Ref =:= self() ->
                    {quit, Memory};
                Class:Reason:Trace ->
                    Exit = exit_reason(Class, Reason, Trace),
                    Memory1 = remember(Exprs, {value, {'EXIT', Exit}}, Memory),
                    case setting(catches, Memory) of
                        true -> {refused, exception("* ", Class, Reason, Trace, Memory, Context), Memory1};
                        false -> {failed, exception("** ", Class, Reason, Trace, Memory, Context), Memory1, Exit}
                    end
            end
    end.

refused(Text, Memory) -> {refused, ["* ", Text, "\n"], Memory}.

exit_reason(error, Reason, Trace) -> {Reason, Trace};
exit_reason(exit, Reason, Trace) -> {Reason, Trace};
exit_reason(throw, Reason, Trace) -> {{nocatch, Reason}, Trace}.

%% history(N) counts from the present command; what is kept of results is no more than that.
remember(Exprs, Value, #memory{number = N, commands = Commands} = M) ->
    History = setting(history, M),
    Results = setting(results, M),
    Kept = [case I > N - Results of
                true -> Command;
                false -> {I, Es, none}
            end || {I, Es, _} = Command <- [{N, Exprs, Value} | Commands], I > N - History],
    M#memory{number = N + 1, commands = Kept}.

%% e(N) becomes the expression, and the N of v(N) that of a result: both before anything is checked.
expanded(Exprs, Memory) ->
    try expand(Exprs, Memory)
    catch throw:{no_command, N} ->
            {error, io_lib:format("~ts: command not found", [erl_pp:expr(N, [{encoding, unicode}])])}
    end.

expand({call, At, {atom, _, e}, [N]}, M) ->
    case command(N, M) of
        {_, [Expr], _} -> Expr;
        {_, Exprs, _} -> {block, At, Exprs};
        false -> throw({no_command, N})
    end;
expand({call, At, {atom, _, v} = V, [N]}, M) ->
    case command(N, M) of
        {I, _, {value, _}} -> {call, At, V, [{integer, At, I}]};
        _ -> throw({no_command, N})
    end;
expand(Tuple, M) when is_tuple(Tuple) -> list_to_tuple(expand(tuple_to_list(Tuple), M));
expand([Head | Tail], M) -> [expand(Head, M) | expand(Tail, M)];
expand(Other, _) -> Other.

command(Expr, #memory{number = Next, commands = Commands}) ->
    case catch erl_eval:expr(Expr, erl_eval:new_bindings()) of
        {value, N, _} when is_integer(N), N < 0 -> lists:keyfind(Next + N, 1, Commands);
        {value, N, _} when is_integer(N) -> lists:keyfind(N, 1, Commands);
        _ -> false
    end.

%% {value, Value, Memory} | {error, what erl_lint says}.
expressions(Exprs, M, Context) ->
    case expressions(Exprs, M#memory.bindings, M, {eval, local(M, Context)}) of
        {value, Value, Bindings} -> {value, Value, M#memory{bindings = Bindings}};
        Error -> Error
    end.

expressions([Expr0 | Rest], Bs0, #memory{records = Table} = M, Local) ->
    Used = minivm_records:used(Expr0, Table),
    case erl_eval:check_command([unbound_allowed(Expr0)], minivm_records:bound(Used, Bs0)) of
        {error, Error} -> {error, Error};
        ok ->
            {value, Value, Bs1} = erl_eval:expr(minivm_records:rewrite(Used, Expr0), Bs0, Local),
            Bs = case Used of
                     [] -> Bs1;
                     _ -> without_helpers(Bs1)
                 end,
            case Rest of
                [] -> {value, Value, Bs};
                _ -> expressions(Rest, Bs, M, Local)
            end
    end.

%% f(X) needs no X.
unbound_allowed({call, At, {atom, _, f}, [{var, _, _}]}) -> {atom, At, ok};
unbound_allowed(Tuple) when is_tuple(Tuple) -> list_to_tuple(unbound_allowed(tuple_to_list(Tuple)));
unbound_allowed([Head | Tail]) -> [unbound_allowed(Head) | unbound_allowed(Tail)];
unbound_allowed(Other) -> Other.

%% The variables that records are rewritten with.
without_helpers(Bs) ->
    lists:foldl(fun({Name, _}, Rest) ->
                        case is_atom(Name) andalso atom_to_list(Name) of
                            "rec" ++ _ -> erl_eval:del_binding(Name, Rest);
                            _ -> Rest
                        end
                end, Bs, erl_eval:bindings(Bs)).

%% ---- functions without a module ----------------------------------------------------------------------------

%% What erl_eval asks for: they get their arguments as expressions.
local(M, Context) ->
    fun(Name, Args, Bs) -> local(Name, Args, Bs, M, Context) end.

local(v, [{integer, _, N}], Bs, #memory{commands = Commands}, _) ->
    {_, _, {value, Value}} = lists:keyfind(N, 1, Commands),
    {value, Value, Bs};
local(h, [], Bs, M, Context) -> {value, history(lists:reverse(M#memory.commands), M, Context), Bs};
local(b, [], Bs, M, Context) ->
    [bound(Name, Value, M, Context) || {Name, Value} <- erl_eval:bindings(Bs)],
    {value, ok, Bs};
local(f, [], _, _, _) -> {value, ok, erl_eval:new_bindings()};
local(f, [{var, _, Name}], Bs, _, _) -> {value, ok, erl_eval:del_binding(Name, Bs)};
local(f, [_], _, _, _) -> no_clause(f, 1);
local(rd, [{atom, _, Name}, Fields], Bs, #memory{records = Table}, _) ->
    {value, minivm_records:define(Name, Fields, Bs, Table), Bs};
local(rd, [_, _], _, _, _) -> no_clause(rd, 2);
local(rf, [], Bs, #memory{records = Table}, _) ->
    minivm_records:forget('_', Table),
    {value, minivm_records:initial(Bs, Table), Bs};
local(rl, [], Bs, #memory{records = Table}, _) ->
    {value, minivm_records:list(minivm_records:known(Table)), Bs};
local(Name, [N], Bs, M, _) when Name =:= history; Name =:= results ->
    case N of
        {integer, _, I} when I >= 0 ->
            {value, set(Name, I, M), Bs};
        _ -> no_clause(Name, 1)
    end;
local(catch_exception, [Value], Bs, M, _) ->
    case Value of
        {atom, _, Catches} when is_boolean(Catches) ->
            {value, set(catches, Catches, M), Bs};
        _ -> no_clause(catch_exception, 1)
    end;
%% These are not what they are in OTP's shell: who asks to leave a prompt does not ask a VM in service to end.
local(Name, [], _, _, _) when Name =:= q; Name =:= exit -> throw({minivm_quit, self()});
local(help, [], Bs, _, _) -> minivm_prompt:help([]), {value, ok, Bs};
local(Name, Args0, Bs0, M, Context) when is_atom(Name) ->
    {Args, Bs} = erl_eval:expr_list(Args0, Bs0, {eval, local(M, Context)}),
    case evaluated(Name, Args, Bs, M, Context) of
        {value, Value} -> {value, Value, Bs};
        Module -> {eval, erlang:make_fun(Module, Name, length(Args)), Args, Bs}
    end.

%% Those whose arguments are values: {value, Value}, or the module that has the function.
evaluated(rf, [Names], _, #memory{records = Table}, _) -> {value, minivm_records:forget(Names, Table)};
evaluated(rl, [Names], _, #memory{records = Table}, _) ->
    {value, minivm_records:list(minivm_records:some(Names, Table))};
evaluated(rp, [Value], _, M, Context) ->
    io:put_chars([show(Value, 1, all, M, Context), $\n]),
    {value, ok};
evaluated(rr, [From], Bs, M, _) -> {value, read(From, '_', [], Bs, M)};
evaluated(rr, [From, Selected], Bs, M, _) -> {value, read(From, Selected, [], Bs, M)};
evaluated(rr, [From, Selected, Options], Bs, M, _) -> {value, read(From, Selected, Options, Bs, M)};
evaluated(Name, Args, _, _, _) ->
    Arity = length(Args),
    case [Module || Module <- [user_default, shell_default], {module, _} <- [code:ensure_loaded(Module)],
                    erlang:function_exported(Module, Name, Arity)] of
        [Module | _] -> Module;
        [] -> erlang:error({shell_undef, Name, Arity, []})
    end.

read(From, Selected, Options, Bs, #memory{records = Table}) ->
    minivm_records:read(From, Selected, Options, {Bs, Table}).

%% The shell's functions have its name, so that what they fail with has it, too.
no_clause(Name, Arity) -> erlang:raise(error, function_clause, [{shell, Name, Arity, []}]).

%% The value before.
set(Name, Value, #memory{settings = Settings} = M) ->
    Old = setting(Name, M),
    ets:insert(Settings, {Name, Value}),
    Old.

history([{N, Exprs, Result} | Commands], M, Context) ->
    Number = integer_to_list(N) ++ ": ",
    io:put_chars([Number, erl_pp:exprs(Exprs, length(Number), [{encoding, unicode}]), $\n]),
    case Result of
        {value, Value} -> io:put_chars(["-> ", show(Value, 4, short, M, Context), $\n]);
        none -> ok
    end,
    history(Commands, M, Context);
history([], _, _) -> ok.

%% A fun is shown as it was written.
bound(Name, Value, M, Context) ->
    At = erl_anno:new(1),
    case erl_eval:fun_data(Value) of
        {fun_data, _, Clauses} -> fun_text({match, At, {var, At, Name}, {'fun', At, {clauses, Clauses}}});
        {named_fun_data, _, FunName, Clauses} ->
            fun_text({match, At, {var, At, Name}, {named_fun, At, FunName, Clauses}});
        false ->
            Begin = atom_to_list(Name) ++ " = ",
            io:put_chars([Begin, show(Value, length(Begin) + 1, short, M, Context), $\n])
    end.

fun_text(Match) -> io:put_chars([erl_pp:expr(Match, [{encoding, unicode}]), $\n]).

%% ---- showing ---------------------------------------------------------------------------------------------

%% As OTP's shell shows it on a terminal; in full where something else reads it.
show(Value, Column, Context) -> show(Value, Column, short, none, Context).

show(Value, Column, Depth, Memory, #{columns := Columns, terminal := Terminal}) ->
    Most = case Terminal andalso Depth =/= all of true -> 30; false -> -1 end,
    Records = case Memory of
                  none -> [];
                  #memory{records = Table} -> [{record_print_fun, minivm_records:print_fun(Table)}]
              end,
    io_lib_pretty:print(Value, [{column, Column}, {line_length, Columns}, {depth, Most},
                                {line_max_chars, 60}, {strings, strings()}, {encoding, unicode} | Records]).

%% shell:strings/1
strings() -> application:get_env(stdlib, shell_strings, true) =/= false.

exception(Mark, Class, Reason, Trace, Memory, Context) ->
    Own = fun(M, _, _) -> lists:member(M, [erl_eval, ?MODULE, minivm_records, shell]) end,
    Format = fun(Term, Column) -> show(Term, Column, short, Memory, Context) end,
    [Mark, erl_error:format_exception(length(Mark) + 1, Class, Reason, Trace, Own, Format, unicode), "\n"].
