%% Expressions at the prompt: read, evaluated and shown as OTP's shell does, with its own erl_scan,
%% erl_parse and erl_eval. Variables are kept; so are the last results (v/1).
-module(minivm_eval).
-export([memory/0, number/1, next/1, bindings/1, variables/1, parse/2, loop/2, show/3, exception/4]).

-define(RESULTS, 20).                   % how many are kept, as in OTP's shell

-record(memory, {bindings = erl_eval:new_bindings(),
                 number = 1,            % of the next expression
                 results = []}).        % {Number, Expression, Value}, newest first

memory() -> #memory{}.
number(#memory{number = N}) -> N.
next(#memory{number = N} = M) -> M#memory{number = N + 1}.
bindings(#memory{bindings = Bs}) -> erl_eval:bindings(Bs).
variables(#memory{bindings = Bs}) -> [V || {V, _} <- erl_eval:bindings(Bs)].

%% ---- reading ---------------------------------------------------------------------------------------------

%% What the text holds, each up to its dot: [{ok, Exprs} | {error, Text}]. `more`: the last has no dot yet.
%% Whole: nothing more comes, so that a dot may be missing.
parse(Chars, Whole) -> parse(Chars, Whole, []).

parse(Chars, Whole, Forms) ->
    case erl_scan:tokens([], Chars, {1, 1}) of
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
    case erl_parse:parse_exprs(Tokens) of
        {ok, Exprs} -> {ok, Exprs};
        {error, Error} -> {error, located(Error)}
    end.

located({{Line, Column}, Module, Why}) -> io_lib:format("~b:~b: ~ts", [Line, Column, Module:format_error(Why)]);
located({_, Module, Why}) -> Module:format_error(Why).

%% ---- evaluating ------------------------------------------------------------------------------------------

%% The process that evaluates. After an exception it ends, and the next one has its variables.
loop(Memory, Context) ->
    receive
        {evaluate, Session, Forms} ->
            case forms(Forms, Memory, Context) of
                {ok, Memory1} ->
                    Session ! {done, self(), {ok, Memory1}},
                    loop(Memory1, Context);
                {quit, _} ->
                    Session ! {done, self(), quit},
                    loop(Memory, Context);
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
forms([{error, Text} | _], Memory, _) ->
    {failed, ["* ", Text, "\n"], Memory, normal};
forms([{ok, Exprs} | Rest], Memory, Context) ->
    try
        {value, Value, Memory1} = exprs(Exprs, Memory),
        show_traced(Context),
        io:put_chars([show(Value, 1, Context), $\n]),
        forms(Rest, remember(Exprs, Value, Memory1), Context)
    catch
        throw:{minivm_quit, Ref} when Ref =:= self() ->
            {quit, Memory};
        Class:Reason:Trace ->
            {failed, exception(Class, Reason, Trace, Context), next(Memory), exit_reason(Class, Reason, Trace)}
    end.

exit_reason(error, Reason, Trace) -> {Reason, Trace};
exit_reason(exit, Reason, _) -> Reason;
exit_reason(throw, Reason, Trace) -> {{nocatch, Reason}, Trace}.

remember(Exprs, Value, #memory{number = N, results = Results} = M) ->
    M#memory{number = N + 1, results = lists:sublist([{N, Exprs, Value} | Results], ?RESULTS)}.

%% The shell's own functions change the variables only where they stand alone, so they are not left to
%% erl_eval.
exprs([{call, _, {atom, _, f}, []}], M) ->
    {value, ok, M#memory{bindings = erl_eval:new_bindings()}};
exprs([{call, _, {atom, _, f}, [{var, _, Name}]}], #memory{bindings = Bs} = M) ->
    {value, ok, M#memory{bindings = erl_eval:del_binding(Name, Bs)}};
exprs(Exprs0, #memory{bindings = Bs0} = M) ->
    {Exprs, Values} = results(Exprs0, M, #{}),
    Known = maps:fold(fun(Name, V, Bs) -> erl_eval:add_binding(Name, V, Bs) end, Bs0, Values),
    {value, Value, Bs1} = erl_eval:exprs(Exprs, Known, {eval, fun local/3}),
    Bs = maps:fold(fun(Name, _, Bs) -> erl_eval:del_binding(Name, Bs) end, Bs1, Values),
    {value, Value, M#memory{bindings = Bs}}.

%% e(N) becomes the expression, v(N) a variable that no program can name.
results({call, A, {atom, _, v}, [N]}, M, Values) ->
    {_, Value} = result(v, N, M),
    Name = list_to_atom("result " ++ integer_to_list(maps:size(Values))),
    {{var, A, Name}, Values#{Name => Value}};
results({call, _, {atom, _, e}, [N]}, M, Values) ->
    case result(e, N, M) of
        {[Expr], _} -> {Expr, Values};
        {Exprs, _} -> {{block, erl_anno:new(1), Exprs}, Values}
    end;
results(Tuple, M, Values0) when is_tuple(Tuple) ->
    {List, Values} = results(tuple_to_list(Tuple), M, Values0),
    {list_to_tuple(List), Values};
results([Head0 | Tail0], M, Values0) ->
    {Head, Values1} = results(Head0, M, Values0),
    {Tail, Values} = results(Tail0, M, Values1),
    {[Head | Tail], Values};
results(Other, _, Values) -> {Other, Values}.

result(Which, N0, #memory{number = Next, results = Results}) ->
    N = case catch erl_parse:normalise(N0) of
            I when is_integer(I), I < 0 -> Next + I;
            I -> I
        end,
    case lists:keyfind(N, 1, Results) of
        {_, Exprs, Value} -> {Exprs, Value};
        false when Which =:= v -> exit({no_result, N0});
        false -> exit({no_command, N0})
    end.

%% Functions without a module: what the shell has.
local(F, Args0, Bs0) ->
    {Args, Bs} = erl_eval:expr_list(Args0, Bs0, {eval, fun local/3}),
    {value, shell_function(F, Args, Bs), Bs}.

shell_function(b, [], Bs) ->
    [io:format("~ts = ~tp~n", [Name, Value]) || {Name, Value} <- erl_eval:bindings(Bs)],
    ok;
shell_function(h, [], _) -> minivm_prompt:help([]), ok;
shell_function(help, [], _) -> minivm_prompt:help([]), ok;
%% Not what it is in OTP's shell: who asks to leave a prompt does not ask a VM in service to end.
shell_function(q, [], _) -> throw({minivm_quit, self()});
shell_function(F, Args, _) when is_atom(F) ->
    Arity = length(Args),
    case lists:member({F, Arity}, c:module_info(exports)) of
        true -> apply(c, F, Args);
        false -> erlang:raise(error, undef, [{shell_default, F, Args, []}])
    end.

%% ---- showing ---------------------------------------------------------------------------------------------

%% As OTP's shell shows it on a terminal; in full where something else reads it.
show(Value, Column, #{columns := Columns, terminal := Terminal}) ->
    Depth = case Terminal of true -> 30; false -> -1 end,
    io_lib_pretty:print(Value, [{column, Column}, {line_length, Columns}, {depth, Depth},
                                {line_max_chars, 60}, {strings, true}, {encoding, unicode}]).

exception(Class, Reason, Trace, Context) ->
    Own = fun(M, _, _) -> M =:= erl_eval orelse M =:= ?MODULE end,
    Format = fun(Term, Column) -> show(Term, Column, Context) end,
    ["** ", erl_error:format_exception(4, Class, Reason, Trace, Own, Format, unicode), "\n"].
