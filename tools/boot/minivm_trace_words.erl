%% What stands behind `:trace` and `minivm run --trace`:
%%
%%   PATTERN, ... [when GUARD] OPTION...
%%   PATTERN: M | M:F | M:F/A | M:F(ARGUMENTS), with * and ? in the names; send [MESSAGE]; receive [MESSAGE]
%%
%% It is read as tokens with their columns, so that what is wrong can be pointed at. Words of options count only
%% outside of all brackets and behind something complete: `when K =:= limit` has none.
-module(minivm_trace_words).
-export([parse/2, split/1, options/0]).

-define(FRAMES, 8).                     % of `stack` without a number

%% [{Option, Its argument, What it does}]
options() ->
    [{"return", "", "and what they return, with the time they took"},
     {"exception", "", "and how they fail"},
     {"fails", "", "only those that fail"},
     {"returns", "PATTERN", "only those whose result matches: returns {error, _}; returns N when N > 9"},
     {"slower", "TIME", "only those that take at least that long: 5ms, 200us, 1s"},
     {"stack", "[N]", "and who called: N callers (8)"},
     {"count", "", "no events: how often, in all processes"},
     {"time", "", "no events: how long, by process"},
     {"memory", "", "no events: words of the heap, by process"},
     {"global", "", "only calls with the module's name in front"},
     {"pid", "P", "only this process: <0.80.0>, 80 or a registered name; again for one more"},
     {"new", "", "only processes that come to be"},
     {"all", "", "all processes, as without it"},
     {"to", "P", "send: only messages to it"},
     {"from", "P", "receive: only messages from it"},
     {"limit", "N | N/s", "ends after N events; shows at most N a second (1000)"}].

words() -> [list_to_atom(Name) || {Name, _, _} <- options()].

%% Text -> {ok, [Trace]}, one for each pattern | {error, Text}. Known: {Variables with values, table of records | none},
%% which patterns and guards may use.
%%
%% A trace is a map:
%%   text, head      as it was typed, whole and the pattern alone; name: M:F/A, or send, or receive
%%   what            {M, F, A}, with '_' for all | send | 'receive';  glob: the names have * or ?
%%   kind            call | call_count | call_time | call_memory | message
%%   spec            match specification;  party: the other process of a message, [Pid | Name]
%%   return, exception, fails :: boolean(), returns :: none | fun((Term) -> boolean()),
%%   slower          none | nanoseconds;  stack: none | frames
%%   scope           local | global;  who: all | new | [pid()];  limit: {N, total | second}
parse(Text0, Known) ->
    Text = string:trim(Text0),
    try
        Tokens = scan(Text),
        Tokens =:= [] andalso throw("what is to be traced? M:F/A, M:F, M, M:F(ARGUMENTS), send or receive"),
        {Heads, AfterHeads} = heads(Tokens),
        {Guard, Words} = guard(AfterHeads),
        Options = options(Words, #{}),
        [contradiction(Head, Guard, Options) || Head <- Heads],
        Rest = case AfterHeads of
                   [] -> "";
                   [T | _] -> [$\s, string:slice(Text, column(T) - 1)]
               end,
        {ok, [trace(Head, Guard, Options, Rest, Known) || Head <- Heads]}
    catch
        throw:{Column, Why} when is_integer(Column) -> {error, ["column ", integer_to_list(Column), ": ", Why]};
        throw:Why -> {error, Why}
    end.

%% What :untrace names: patterns between commas, as they were typed.
split(Text) ->
    try split(scan(Text), 0, [], []) of
        Parts -> [string:trim(lists:append([text_with_gap(T, Before) || {T, Before} <- Part])) || Part <- Parts]
    catch
        throw:_ -> [Text]
    end.

split([], _, Part, Parts) -> lists:reverse([gaps(lists:reverse(Part)) | Parts]);
split([{',', _} | Rest], 0, Part, Parts) -> split(Rest, 0, [], [gaps(lists:reverse(Part)) | Parts]);
split([T | Rest], Depth, Part, Parts) -> split(Rest, Depth + nesting(T), [T | Part], Parts).

gaps([]) -> [];
gaps([First | Rest]) ->
    {Gaps, _} = lists:mapfoldl(fun(T, Before) -> {{T, Before}, T} end, First, Rest),
    [{First, First} | Gaps].

text_with_gap(T, Before) -> lists:duplicate(max(0, column(T) - ends(Before)), $\s) ++ text(T).

%% ---- tokens ----------------------------------------------------------------------------------------------

scan(Text) ->
    case erl_scan:string(lists:flatten(string:replace(Text, "\n", " ", all)), {1, 1}, [text]) of
        {ok, Tokens, _} -> Tokens;
        {error, {{_, Column}, Module, Why}, _} -> throw({Column, Module:format_error(Why)})
    end.

column(Token) -> erl_anno:column(element(2, Token)).
text(Token) -> erl_anno:text(element(2, Token)).
ends(Token) -> column(Token) + string:length(text(Token)).
is_behind(Token, Before) -> column(Token) =:= ends(Before).

nesting(Token) ->
    case element(1, Token) of
        Kind when Kind =:= '('; Kind =:= '['; Kind =:= '{'; Kind =:= '<<'; Kind =:= 'fun'; Kind =:= 'case';
                  Kind =:= 'begin' -> 1;
        Kind when Kind =:= ')'; Kind =:= ']'; Kind =:= '}'; Kind =:= '>>'; Kind =:= 'end' -> -1;
        _ -> 0
    end.

%% The tokens up to the first for which Ends(Token) holds outside of brackets, or an option's word.
until(Tokens, Ends) -> until(Tokens, none, 0, Ends, []).
until([], _, _, _, Taken) -> {lists:reverse(Taken), []};
until([T | Rest] = Tokens, Before, Depth, Ends, Taken) ->
    case Depth =:= 0 andalso (Ends(T) orelse (is_complete(Before) andalso is_word(T))) of
        true -> {lists:reverse(Taken), Tokens};
        false -> until(Rest, element(1, T), Depth + nesting(T), Ends, [T | Taken])
    end.

is_complete(Kind) -> lists:member(Kind, [atom, var, integer, float, string, char, ')', ']', '}', '>>', 'end']).

is_word({atom, _, Word} = T) -> lists:member(Word, words()) andalso hd(text(T)) =/= $';
is_word(_) -> false.

%% ---- patterns --------------------------------------------------------------------------------------------

%% {[{Column, Text, functions, {M, F, A}, IsGlob, Arguments | none} | {Column, Text, send | 'receive', Message}], Rest}
heads(Tokens) ->
    {Head, Rest} = head(Tokens),
    case Rest of
        [{',', Anno}] -> throw({erl_anno:column(Anno), "one more pattern is expected behind the comma"});
        [{',', _} | More] ->
            {Heads, End} = heads(More),
            {[Head | Heads], End};
        [{'when', _} | _] -> {[Head], Rest};
        [] -> {[Head], Rest};
        [T | _] ->
            is_word(T) orelse not_understood(T),
            {[Head], Rest}
    end.

head([{atom, _, send}, {':', _} | _] = Tokens) -> functions(Tokens);
head([{atom, _, send} = T | Rest]) -> message(send, T, Rest);
head([{'receive', _} = T | Rest]) -> message('receive', T, Rest);
head(Tokens) -> functions(Tokens).

message(What, T, Rest) ->
    {Pattern, After} =
        case Rest of
            [First | _] -> case is_word(First) of
                               true -> {[], Rest};
                               false -> until(Rest, fun(X) -> lists:member(element(1, X), [',', 'when']) end)
                           end;
            [] -> {[], []}
        end,
    {{column(T), typed([T | Pattern]), What, Pattern}, After}.

functions([First | _] = Tokens) ->
    {M, AfterM} = name(Tokens, none),
    case AfterM of
        [{':', _} = Colon | AfterColon] ->
            AfterColon =:= [] andalso throw({ends(Colon), ["the pattern must be M:F/A, M:F or M:F(ARGUMENTS): a "
                                                           "function's name is expected"]}),
            {F, AfterF} = name(AfterColon, Colon),
            functions(First, M, F, AfterF, Tokens);
        _ ->
            {{column(First), typed(Tokens, AfterM), functions, {atom_of(M), '_', '_'}, is_glob(M), none}, AfterM}
    end.

functions(First, M, F, [{'/', _}, {integer, _, A} | Rest], All) when A =< 255 ->
    {{column(First), typed(All, Rest), functions, {atom_of(M), atom_of(F), A},
      is_glob(M) orelse is_glob(F) orelse atom_of(F) =:= '_', none}, Rest};
functions(First, M, F, [{'/', _}, T | Rest], All) when element(1, T) =:= '*'; element(3, T) =:= '_' ->
    {{column(First), typed(All, Rest), functions, {atom_of(M), atom_of(F), '_'}, is_glob(M) orelse is_glob(F), none},
     Rest};
functions(_, _, _, [{'/', _} = Slash | Rest], _) ->
    throw({case Rest of [] -> ends(Slash); [T | _] -> column(T) end,
           "the pattern must be M:F/A: an arity from 0 to 255, or * for all, is expected"});
functions(First, M, F, [{'(', _} = Open | Rest], All) ->
    {Arguments, Close, After} = arguments(Rest, Open, 0, []),
    {{column(First), typed(All, After), functions, {atom_of(M), atom_of(F), '_'}, is_glob(M) orelse is_glob(F),
      [setelement(1, Open, '[')] ++ Arguments ++ [setelement(1, Close, ']')]}, After};
functions(First, M, F, Rest, All) ->
    {{column(First), typed(All, Rest), functions, {atom_of(M), atom_of(F), '_'}, is_glob(M) orelse is_glob(F), none},
     Rest}.

arguments([], Open, _, _) -> throw({column(Open), "the arguments do not end with )"});
arguments([{')', _} = Close | Rest], _, 0, Taken) -> {lists:reverse(Taken), Close, Rest};
arguments([T | Rest], Open, Depth, Taken) -> arguments(Rest, Open, Depth + nesting(T), [T | Taken]).

%% A name is what stands together, with * and ? in it: {{quoted, Atom} | {plain, Text}, Rest}.
name([{atom, _, Atom} = T | Rest], _) ->
    case hd(text(T)) of
        $' ->
            IsPattern = lists:any(fun(C) -> C =:= $* orelse C =:= $? end, atom_to_list(Atom)),
            %% A module '*' there is none, a function there is: erlang:'*'/2.
            {case IsPattern andalso match_colon(Rest) of
                 true -> {plain, atom_to_list(Atom)};
                 false -> {quoted, Atom}
             end, Rest};
        _ -> plain(T, Rest)
    end;
name([T | Rest], _) when element(1, T) =:= '*'; element(1, T) =:= '?' -> plain(T, Rest);
name([{var, _, _} = T | Rest], _) ->
    case plain(T, Rest) of
        {{plain, "_"}, _} = All -> All;
        {{plain, Text}, _} = Plain ->
            is_pattern(Text) orelse
                throw({column(T), ["the pattern must be M:F/A, M:F, M or M:F(ARGUMENTS): ", Text,
                                   " is a variable; a name that begins so stands in quotes, '", Text, "'"]}),
            Plain
    end;
name([T | _], _) ->
    throw({column(T), ["the pattern must be M:F/A, M:F, M or M:F(ARGUMENTS), or send or receive, and not begin with ",
                       text(T)]}).

match_colon([{':', _} | _]) -> true;
match_colon(_) -> false.

plain(T, Rest) -> plain(T, Rest, text(T)).
plain(Before, [T | Rest] = Tokens, Text) ->
    IsPart = is_behind(T, Before) andalso lists:member(element(1, T), [atom, var, integer, '*', '?', '.']),
    case IsPart of
        true -> plain(T, Rest, Text ++ text(T));
        false -> {{plain, Text}, Tokens}
    end;
plain(_, [], Text) -> {{plain, Text}, []}.

is_pattern(Text) -> lists:any(fun(C) -> C =:= $* orelse C =:= $? end, Text).
is_glob({quoted, _}) -> false;
is_glob({plain, "*"}) -> false;         % that is all
is_glob({plain, Text}) -> is_pattern(Text).

atom_of({quoted, Atom}) -> Atom;
atom_of({plain, "*"}) -> '_';
atom_of({plain, Text}) -> list_to_atom(Text).

%% As it was typed.
typed(Tokens, Rest) -> typed(lists:sublist(Tokens, length(Tokens) - length(Rest))).
typed(Tokens) -> lists:flatten([text_with_gap(T, Before) || {T, Before} <- gaps(Tokens)]).

%% ---- guards ----------------------------------------------------------------------------------------------

%% {none | {Column, Names | none, Condition}, Options}. The guard is `when G`, or `when [Arguments] -> G`.
guard([{'when', _} = When | Rest]) ->
    {Tokens, Options} = until(Rest, fun(_) -> false end),
    Tokens =:= [] andalso throw({ends(When), "a guard is expected behind `when`"}),
    case lists:splitwith(fun(T) -> element(1, T) =/= '->' end, Tokens) of
        {Names, [Arrow]} -> throw({ends(Arrow), ["a guard is expected behind ", typed(Names), " ->"]});
        {Names, [_ | Condition]} -> {{column(When), Names, Condition}, Options};
        {_, []} -> {{column(When), none, Tokens}, Options}
    end;
guard(Options) -> {none, Options}.

%% {Match specification without bodies, Arity}
call_spec(A, none, none, _) -> {[{'_', [], []}], A};
call_spec(_, none, {Column, none, _}, _) ->
    throw({Column, "give the arguments names: M:F(A, B) when GUARD, or M:F/2 when [A, B] -> GUARD"});
call_spec(A, Arguments, Guard, Known) ->
    {Column, Given, Condition} =
        case Guard of
            none -> {column(hd(Arguments)), Arguments, []};
            {At, none, G} -> {At, Arguments, G};
            {At, Names, G} when Arguments =:= none -> {At, Names, G};
            {At, _, _} -> throw({At, "the arguments have patterns already: M:F(A, B) when GUARD"})
        end,
    List = expression(Given, "the arguments"),
    Arity = case {length_of(List), A} of
                {'_', _} -> A;
                {N, '_'} -> N;
                {N, N} -> N;
                {N, _} -> throw({Column, io_lib:format("the guard has ~b arguments, the function ~b", [N, A])})
            end,
    {transformed(List, Given, Condition, "the arguments", Column, Known), Arity}.

length_of({nil, _}) -> 0;
length_of({cons, _, _, Tail}) ->
    case length_of(Tail) of
        '_' -> '_';
        N -> N + 1
    end;
length_of(_) -> '_'.

%% Of a message: its pattern, and who is at the other end ($100).
message_spec(What, Pattern, Guard, Known) ->
    {Column, Condition} = case Guard of
                              none -> {1, []};
                              {At, none, G} -> {At, G};
                              {At, _, _} -> throw({At, "the message has a pattern: send {put, K, _} when GUARD"})
                          end,
    Pattern =:= [] andalso Condition =/= [] andalso
        throw({Column, "give the message a pattern: send {put, K, _} when GUARD"}),
    Message = case Pattern of
                  [] -> {var, erl_anno:new(1), '_'};
                  _ -> expression(Pattern, "the message")
              end,
    List = {cons, erl_anno:new(1), Message, {nil, erl_anno:new(1)}},
    [{case {What, Head} of
          {send, [M]} -> ['$100', M];
          {send, '_'} -> ['$100', '_'];
          {'receive', [M]} -> ['_', '$100', M];
          {'receive', '_'} -> ['_', '$100', '_']
      end, Guards, Body}
     || {Head, Guards, Body} <- transformed(List, Pattern, Condition, "the message", Column, Known)].

%% As dbg:fun2ms/1 does it in OTP's shell, but that a variable of the prompt is its value in a pattern as well, and that
%% guards may test records.
transformed(List, Pattern, Condition, What, Column, {Bindings, _} = Known) ->
    A = erl_anno:new(1),
    Place = case Condition of [] -> What; _ -> "the guard" end,
    Fun = {'fun', A, {clauses, [{clause, A, [List], guards(Condition), [{atom, A, true}]}]}},
    Tokens = Pattern ++ Condition,
    {'fun', _, {clauses, [Clause]}} = case used_records(Fun, Tokens, Place, Known) of
                                          [] -> Fun;
                                          Used ->
                                              check(Fun, Used, Tokens, Place, Bindings),
                                              %% The option: tests in the guard are not made patterns, which could not be
                                              %% translated.
                                              minivm_records:rewrite(Used, Fun, [dialyzer])
                                      end,
    case ms_transform:transform_from_shell(dbg, [with_values(record_tests(Clause), Bindings)], Bindings) of
        {error, [{_, [{_, Module, Why} | _]} | _], _} -> throw({Column, [Place, ": ", Module:format_error(Why)]});
        Alternatives -> Alternatives    % one for each guard between semicolons
    end.

%% Tokens: what has been typed, to be pointed at.
used_records(Expr, Tokens, What, {_, Table}) ->
    case minivm_records:unknown(Expr, Table) of
        [] -> minivm_records:used(Expr, Table);
        [Name | _] ->
            throw({record_column(Name, Tokens),
                   [What, ": ", io_lib:format("there is no record ~tw", [Name]), case Table of
                                                                                     none -> " without a prompt";
                                                                                     _ -> "; rr and rd make one known"
                                                                                 end]})
    end.

record_column(Name, [{'#', _} = Mark, {atom, _, Name} | _]) -> column(Mark);
record_column(Name, [_ | [_ | _] = Tokens]) -> record_column(Name, Tokens);
record_column(_, [Token]) -> column(Token).

check(Expr, Records, Tokens, What, Bindings) ->
    case erl_lint:exprs([Expr], minivm_records:bound(Records, Bindings)) of
        {error, [{_, [{At, Module, Why} | _]} | _], _} ->
            throw({case At of {_, Column} -> Column; _ -> column(hd(Tokens)) end, [What, ": ", Module:format_error(Why)]});
        _ -> ok
    end.

%% is_record/3 is nothing that ms_transform knows.
record_tests({call, At, {remote, _, {atom, _, erlang}, {atom, _, is_record} = Test}, [_, _, _] = Args}) ->
    record_tests({call, At, Test, Args});
record_tests({call, At, {atom, _, is_record}, [Term0, {atom, _, _} = Name, {integer, _, _} = Size]}) ->
    Term = record_tests(Term0),
    Is = fun(Function, Args) -> {call, At, {atom, At, Function}, Args} end,
    Both = fun(A, B) -> {op, At, 'andalso', A, B} end,
    Both(Is(is_tuple, [Term]), Both({op, At, '=:=', Is(size, [Term]), Size},
                                    {op, At, '=:=', Is(element, [{integer, At, 1}, Term]), Name}));
record_tests(Tuple) when is_tuple(Tuple) -> list_to_tuple(record_tests(tuple_to_list(Tuple)));
record_tests([Head | Tail]) -> [record_tests(Head) | record_tests(Tail)];
record_tests(Other) -> Other.

%% What stands where the pattern has a variable of the prompt is compared with its value, in a guard: the value may be a
%% process, or an atom that means something else in the pattern of a match specification.
with_values({clause, At, Head0, Guards, Body}, Bindings) ->
    {Head, Tests} = values(Head0, Bindings, []),
    {clause, At, Head, case {Tests, Guards} of
                           {[], _} -> Guards;
                           {_, []} -> [Tests];
                           _ -> [Tests ++ Guard || Guard <- Guards]
                       end, Body}.

values({var, At, Name} = Var, Bindings, Tests) ->
    case lists:keymember(Name, 1, Bindings) of
        true ->
            Here = {var, At, list_to_atom("$value" ++ integer_to_list(length(Tests)))},
            {Here, [{op, At, '=:=', Here, Var} | Tests]};
        false -> {Var, Tests}
    end;
values({map_field_exact, At, Key, Value0}, Bindings, Tests0) ->
    {Value, Tests} = values(Value0, Bindings, Tests0),
    {{map_field_exact, At, key(Key, Bindings), Value}, Tests};
values({bin, _, _} = Bin, _, Tests) -> {Bin, Tests};    % ms_transform says that it takes no variables
values(Tuple, Bindings, Tests0) when is_tuple(Tuple) ->
    {List, Tests} = values(tuple_to_list(Tuple), Bindings, Tests0),
    {list_to_tuple(List), Tests};
values([Head0 | Tail0], Bindings, Tests0) ->
    {Head, Tests1} = values(Head0, Bindings, Tests0),
    {Tail, Tests} = values(Tail0, Bindings, Tests1),
    {[Head | Tail], Tests};
values(Other, _, Tests) -> {Other, Tests}.

%% Of a map: no part of the pattern.
key({var, At, Name}, Bindings) ->
    case lists:keyfind(Name, 1, Bindings) of
        {_, Value} ->
            try erl_parse:abstract(Value)
            catch error:_ -> throw({erl_anno:column(At), io_lib:format("the value of ~tw cannot be a key here", [Name])})
            end;
        false -> throw({erl_anno:column(At), io_lib:format("variable ~tw is unbound", [Name])})
    end;
key(Tuple, Bindings) when is_tuple(Tuple) -> list_to_tuple(key(tuple_to_list(Tuple), Bindings));
key([Head | Tail], Bindings) -> [key(Head, Bindings) | key(Tail, Bindings)];
key(Other, _) -> Other.

guards([]) -> [];
guards(Tokens) ->
    A = erl_anno:new(1),
    Fun = [{'fun', A}, {'(', A}, {')', A}, {'when', A}] ++ Tokens ++ [{'->', A}, {atom, A, true}, {'end', A}],
    case parsed(Fun, "the guard") of
        [{'fun', _, {clauses, [{clause, _, [], Guards, _}]}}] -> Guards;
        _ -> throw({column(hd(Tokens)), "the guard ends too soon"})
    end.

expression(Tokens, What) ->
    case parsed(Tokens, What) of
        [Expr] -> Expr;
        _ -> throw({column(hd(Tokens)), [What, ": one expression is expected"]})
    end.

parsed(Tokens, What) ->
    case erl_parse:parse_exprs(Tokens ++ [{dot, erl_anno:new(1)}]) of
        {ok, Exprs} -> Exprs;
        {error, {At, Module, Why}} ->
            case erl_anno:column(At) of
                undefined ->            % before what has been added here
                    Columns = [C || T <- Tokens, C <- [column(T)], C =/= undefined],
                    throw({lists:max(Columns), [What, " ends too soon"]});
                Column -> throw({Column, [What, ": ", Module:format_error(Why)]})
            end
    end.

%% ---- options ---------------------------------------------------------------------------------------------

options([], O) -> O;
options([{atom, _, Word} = T | Rest], O) ->
    is_word(T) orelse not_understood(T),
    {Key, Value, After} = option(Word, T, Rest),
    options(After, set(Key, Value, T, O));
options([T | _], _) -> not_understood(T).

%% Several processes may be named; all else is said once.
set(who, [Pid], _, #{who := [_ | _] = Pids} = O) -> O#{who := lists:usort([Pid | Pids])};
set(Key, _, T, O) when is_map_key(Key, O) ->
    #{{column, Key} := {_, First}} = O,
    throw({column(T), case First =:= text(T) of
                          true -> [First, " is there twice"];
                          false -> [First, " and ", text(T), " contradict each other"]
                      end});
set(Key, Value, T, O) -> O#{Key => Value, {column, Key} => {column(T), text(T)}}.

option(Word, _, Rest) when Word =:= return; Word =:= exception; Word =:= fails -> {Word, true, Rest};
option(count, _, Rest) -> {kind, call_count, Rest};
option(time, _, Rest) -> {kind, call_time, Rest};
option(memory, _, Rest) -> {kind, call_memory, Rest};
option(global, _, Rest) -> {scope, global, Rest};
option(Who, _, Rest) when Who =:= new; Who =:= all -> {who, Who, Rest};
option(pid, _, [{atom, _, Who} | Rest]) when Who =:= new; Who =:= all -> {who, Who, Rest};
option(pid, T, Rest) ->
    {Pid, After} = process(T, Rest),
    {who, [Pid], After};
option(Word, T, Rest) when Word =:= to; Word =:= from ->
    {Pid, After} = process(T, Rest),
    Name = case Rest of [{atom, _, N} | _] -> [N]; _ -> [] end,
    {party, {Word, [Pid | Name]}, After};
option(stack, _, [{integer, _, N} | Rest]) when N > 0, N =< 100 -> {stack, N, Rest};
option(stack, _, [{integer, _, _} = T | _]) -> throw({column(T), "stack: from 1 to 100 callers"});
option(stack, _, Rest) -> {stack, ?FRAMES, Rest};
option(slower, _, [{Kind, _, N}, {atom, _, Unit} = U | Rest]) when (Kind =:= integer orelse Kind =:= float), N > 0 ->
    {slower, round(N * unit(Unit, U)), Rest};
option(slower, T, _) -> throw({ends(T) + 1, "slower: a time is expected: 5ms, 200us or 1s"});
option(returns, T, Rest) ->
    {Tokens, After} = until(Rest, fun(_) -> false end),
    Tokens =:= [] andalso throw({ends(T), "returns: a pattern is expected: returns {error, _}"}),
    {returns, Tokens, After};
option(limit, _, [{integer, _, 0} = T | _]) -> throw({column(T), "limit: a number above 0 is expected"});
option(limit, _, [{integer, _, N}, {'/', _}, {atom, _, s} | Rest]) -> {limit, {N, second}, Rest};
option(limit, _, [{integer, _, _}, {'/', _} = T | _]) ->
    throw({column(T), "limit: a number is expected, or one a second: limit 100/s"});
option(limit, _, [{integer, _, N} | Rest]) -> {limit, {N, total}, Rest};
option(limit, T, _) -> throw({ends(T) + 1, "limit: a number is expected, or one a second: limit 100/s"}).

unit(s, _) -> 1000000000;
unit(ms, _) -> 1000000;
unit(us, _) -> 1000;
unit(_, U) -> throw({column(U), [text(U), ": no unit of time; there are s, ms and us"]}).

%% <0.80.0>, 80 or a registered name.
process(_, [{'<', _}, {float, _, _} = F, {'.', _}, {integer, _, _} = N, {'>', _} | Rest]) ->
    {pid(F, [$<, text(F), $., text(N), $>]), Rest};
process(_, [{integer, _, N} = T | Rest]) -> {pid(T, ["<0.", integer_to_list(N), ".0>"]), Rest};
process(_, [{atom, _, Name} = T | Rest]) ->
    case whereis(Name) of
        Pid when is_pid(Pid) -> {Pid, Rest};
        _ -> throw({column(T), io_lib:format("~tw: no process has this name", [Name])})
    end;
process(Word, _) ->
    throw({ends(Word) + 1, [text(Word), ": a process is expected: <0.80.0>, 80 or a registered name"]}).

pid(T, Chars) ->
    Text = lists:flatten(Chars),
    Pid = try list_to_pid(Text) catch error:_ -> throw({column(T), [Text, ": no process"]}) end,
    is_process_alive(Pid) orelse throw({column(T), [Text, ": there is no such process (any more)"]}),
    Pid.

not_understood({',', _} = T) ->
    throw({column(T), "not understood: a comma; guard and options stand behind all patterns and are for all of them"});
not_understood(T) ->
    throw({column(T), ["not understood: ", text(T), "; there are ",
                       lists:join(", ", [Name || {Name, _, _} <- options()])]}).

%% Words that cannot both be meant.
contradiction({_, _, What, _}, _, O) ->
    contradicts([kind, return, exception, fails, returns, slower, stack, scope], [What, " shows messages, not calls"], O),
    case {What, O} of
        {send, #{party := {from, _}}} -> contradicts([party], "send knows `to`, receive knows `from`", O);
        {'receive', #{party := {to, _}}} -> contradicts([party], "send knows `to`, receive knows `from`", O);
        _ -> ok
    end;
contradiction({Column, _, functions, _, _, Arguments}, Guard, #{kind := Kind} = O) ->
    {_, Word} = maps:get({column, kind}, O),
    contradicts([return, exception, fails, returns, slower, stack, scope, limit], [Word, " shows a sum and no events"], O),
    Kind =:= call_count andalso contradicts([who], "count counts in all processes (time tells them apart)", O),
    contradicts([party], "it is for messages", O),
    case {Arguments, Guard} of
        {none, none} -> ok;
        {_, {At, _, _}} -> throw({At, [Word, " looks at no arguments: M:F/A ", Word]});
        _ -> throw({Column, [Word, " looks at no arguments: M:F/A ", Word]})
    end;
contradiction(_, _, #{fails := _, returns := _} = O) ->
    [{_, First}, {Column, Second}] = lists:sort([maps:get({column, Key}, O) || Key <- [fails, returns]]),
    throw({Column, [First, " and ", Second, " contradict each other"]});
contradiction(_, _, O) ->
    contradicts([party], "it is for messages: send MESSAGE to P, receive MESSAGE from P", O).

contradicts(Keys, Why, O) ->
    [throw({Column, [Text, ": ", [case W of _ when is_atom(W) -> atom_to_list(W); _ -> W end
                                  || W <- if is_list(hd(Why)); is_atom(hd(Why)) -> Why; true -> [Why] end]]})
     || Key <- Keys, {Column, Text} <- [maps:get({column, Key}, O, none)]].

%% ---- the whole -------------------------------------------------------------------------------------------

trace({_, Head, What, Pattern}, Guard, O, Rest, Known) ->
    {_, Party} = maps:get(party, O, {none, any}),
    (common(Head, Rest, O))#{what => What, name => atom_to_list(What), kind => message, glob => false, party => Party,
                             spec => message_spec(What, Pattern, Guard, Known)};
trace({_, Head, functions, {M, F, A}, IsGlob, Arguments}, Guard, O, Rest, Known) ->
    {Spec, Arity} = call_spec(A, Arguments, Guard, Known),
    What = {M, F, Arity},
    Ends = maps:get(fails, O, false) orelse maps:get(exception, O, false) orelse maps:is_key(slower, O),
    Body = case O of
               _ when Ends -> [{exception_trace}];
               #{return := true} -> [{return_trace}];
               #{returns := _} -> [{return_trace}];
               _ -> []
           end ++ [{message, {current_stacktrace, N}} || #{stack := N} <- [O]],
    (common(Head, Rest, O))#{what => What, name => lists:flatten(canonical(What, IsGlob)),
                             kind => maps:get(kind, O, call),
                             %% A name behind one that is open is none that trace:function/4 knows.
                             glob => IsGlob orelse M =:= '_'
                                 orelse (F =:= '_' andalso Arity =/= '_'),
                             spec => [{H, Guards, Body} || {H, Guards, _} <- Spec],
                             return => maps:get(return, O, false), exception => maps:get(exception, O, false),
                             fails => maps:get(fails, O, false), slower => maps:get(slower, O, none),
                             stack => maps:get(stack, O, none), scope => maps:get(scope, O, local),
                             returns => case O of
                                            #{returns := Tokens} -> matcher(Tokens, Known);
                                            _ -> none
                                        end}.

common(Head, Rest, O) ->
    #{text => lists:flatten([Head, Rest]), head => Head, who => maps:get(who, O, all),
      limit => maps:get(limit, O, {1000, second})}.

canonical({M, '_', '_'}, IsGlob) -> part(M, IsGlob);
canonical({M, F, '_'}, IsGlob) -> [part(M, IsGlob), $:, part(F, IsGlob)];
canonical({M, F, A}, IsGlob) -> [part(M, IsGlob), $:, part(F, IsGlob), $/, integer_to_list(A)].

part('_', _) -> "*";
part(Name, IsGlob) ->
    Text = atom_to_list(Name),
    case IsGlob andalso is_pattern(Text) of
        true -> Text;
        false -> io_lib:write_atom(Name)
    end.

%% `returns PATTERN [when GUARD]`: as in a case, so that a variable of the prompt stands for its value.
matcher(Tokens, {Bindings, _} = Known) ->
    A = erl_anno:new(1),
    Case = [{'case', A}, {var, A, '$result'}, {'of', A}] ++ Tokens ++
        [{'->', A}, {atom, A, true}, {';', A}, {var, A, '_'}, {'->', A}, {atom, A, false}, {'end', A}],
    Expr = case parsed(Case, "returns") of
               [{'case', _, _, [_, _]} = One] -> One;
               _ -> throw({column(hd(Tokens)), "returns: one pattern is expected"})
           end,
    Used = used_records(Expr, Tokens, "returns", Known),
    check(Expr, Used, Tokens, "returns", [{'$result', x} | Bindings]),
    Rewritten = minivm_records:rewrite(Used, Expr),
    fun(Value) ->
            {value, Matches, _} = erl_eval:expr(Rewritten, [{'$result', Value} | Bindings]),
            Matches
    end.
