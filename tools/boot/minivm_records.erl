%% Records at the prompt: read from modules and files (rr), defined (rd), and used in expressions, which are
%% rewritten to tuples before they are evaluated. The definitions are in a table of {Name, Attribute}, which
%% outlives the process that evaluates.
-module(minivm_records).
-export([new/0, known/1, some/2, read/4, define/4, forget/2, initial/2, list/1, used/2, unknown/2, bound/2, rewrite/2,
         rewrite/3, print_fun/1]).

new() -> ets:new(records, [public]).

known(Table) -> lists:sort(ets:tab2list(Table)).

some(Names, Table) -> lists:append([ets:lookup(Table, Name) || Name <- listed(Names)]).

listed(L) when is_list(L) -> L;
listed(One) -> [One].

list(Records) ->
    [io:put_chars(erl_pp:attribute(Attribute, [{encoding, unicode}])) || {_, Attribute} <- Records],
    ok.

forget('_', Table) -> ets:delete_all_objects(Table), ok;
forget(Names, Table) ->
    [ets:delete(Table, Name) || Name <- listed(Names)],
    ok.

%% Those of user_default, which a user's .erlang may have loaded.
initial(Bindings, Table) ->
    case code:is_loaded(user_default) of
        false -> [];
        _ ->
            case attributes(user_default, []) of
                Found when is_list(Found) -> try add(Found, Bindings, Table) catch _:_ -> [] end;
                _ -> []
            end
    end.

%% rd(Name, Fields), as they stand in the expression.
define(Name, Fields, Bindings, Table) ->
    Text = lists:flatten(["-record(", io_lib:write_atom_as_latin1(Name), ",", erl_pp:expr(Fields), ")."]),
    {ok, Tokens, _} = erl_scan:string(Text),
    case erl_parse:parse_form(Tokens) of
        {ok, Attribute} ->
            [Defined] = add([Attribute], Bindings, Table),
            Defined;
        {error, {_, Module, Why}} -> exit(text(Module, Why))
    end.

text(Module, Why) -> lists:flatten(io_lib:format("~ts", [Module:format_error(Why)])).

%% rr/1,2,3 -> [Name] | {error, _}
read(From, Selected, Options, {Bindings, Table}) ->
    case attributes(From, listed(Options)) of
        Found when is_list(Found), Selected =:= '_' -> add(Found, Bindings, Table);
        Found when is_list(Found) ->
            Names = listed(Selected),
            add([A || {attribute, _, _, {Name, _}} = A <- Found, lists:member(Name, Names)], Bindings, Table);
        Error -> Error
    end.

add(Attributes, Bindings, Table) ->
    New = [{Name, A} || {attribute, _, _, {Name, _}} = A <- Attributes],
    case erl_eval:check_command([], bound(New, Bindings)) of
        ok ->
            ets:insert(Table, New),
            lists:usort([Name || {Name, _} <- New]);
        {error, {_, Module, Why}} -> exit(text(Module, Why))
    end.

%% The bindings that tell erl_lint of records: numbers keep those that are used in front of who uses them.
bound(Records, Bindings) ->
    {_, _, All} =
        lists:foldl(fun({Name, Attribute}, {I, Seen, Bs}) ->
                            case Seen of
                                #{Name := _} -> {I + 1, Seen, Bs};
                                _ -> {I + 1, Seen#{Name => I}, erl_eval:add_binding({record, I, Name}, Attribute, Bs)}
                            end
                    end, {0, #{}, Bindings}, Records),
    All.

%% ---- where they are read from ---------------------------------------------------------------------------

%% [Attribute] | {error, _}
attributes(Module, Options) when is_atom(Module) ->
    case code:which(Module) of
        File when is_list(File) ->
            case minivm_compile:is_source(File) of      % compiled in memory: there is no other file
                true -> of_source(File, Options);
                false ->
                    case erl_prim_loader:get_file(File) of
                        {ok, Beam, _} -> of_beam(Beam, File);
                        error -> {error, nofile}
                    end
            end;
        _ -> {error, nofile}
    end;
attributes(Pattern, Options) ->
    case catch filelib:wildcard(Pattern) of
        {'EXIT', _} -> {error, invalid_filename};
        [File] -> of_file(File, Options);
        Files -> lists:append([Found || File <- Files, Found <- [of_file(File, Options)], is_list(Found)])
    end.

of_file(File, Options) ->
    case filename:extension(File) of
        ".beam" -> of_beam(File, File);
        _ -> of_source(File, Options)
    end.

of_beam(Beam, File) ->
    case beam_lib:chunks(Beam, [abstract_code, "CInf"]) of
        {ok, {_, [{abstract_code, {raw_abstract_v1, Forms}}, _]}} -> of_forms(Forms);
        {ok, {_, [{abstract_code, _}, {"CInf", Info}]}} -> of_its_source(File, binary_to_term(Info));
        Error -> Error
    end.

%% Beside the file, in src of its application, or where it was compiled.
of_its_source(File, Info) ->
    Beside = filename:rootname(File) ++ ".erl",
    Application = filename:dirname(filename:dirname(File)),
    Compiled = proplists:get_value(source, Info, []),
    case [F || F <- [Beside, filename:join([Application, "src", filename:basename(Beside)]), Compiled],
               filelib:is_regular(F)] of
        [Source | _] -> of_source(Source, proplists:get_value(options, Info, []));
        [] -> {error, nofile}
    end.

of_source(File, Options) ->
    Path = [".", filename:dirname(File) | [Dir || {i, Dir} <- Options ++ minivm_compile:headers(File), is_list(Dir)]],
    Macros = lists:append([case Option of
                               {d, Name, Value} -> [{Name, Value}];
                               {d, Name} -> [Name];
                               _ -> []
                           end || Option <- Options]),
    case epp:parse_file(File, Path, Macros) of
        {ok, Forms} -> of_forms(Forms);
        Error -> Error
    end.

of_forms(Forms) -> [A || {attribute, _, record, _} = A <- Forms].

%% ---- in expressions -------------------------------------------------------------------------------------

%% The records that an expression uses, and those that these use, in front of them.
used(Expr, Table) ->
    {Records, _} = used(names(Expr, []), Table, {[], #{}}),
    lists:reverse(Records).

%% The names of those that it uses and that nobody has defined. Table: none where there are no records at all.
unknown(Expr, none) -> lists:usort(names(Expr, []));
unknown(Expr, Table) -> [Name || Name <- lists:usort(names(Expr, [])), not ets:member(Table, Name)].

used(_, none, State) -> State;
used(Names, Table, State) ->
    lists:foldl(fun(Name, {Records, Seen}) when not is_map_key(Name, Seen) ->
                        case ets:lookup(Table, Name) of
                            [{_, Attribute} = Record] ->
                                {Before, Seen1} = used(names(Attribute, []), Table, {Records, Seen#{Name => true}}),
                                {[Record | Before], Seen1};
                            [] -> {Records, Seen}
                        end;
                   (_, Known) -> Known
                end, State, Names).

names({record, _, Name, Parts}, Names) when is_atom(Name) -> names(Parts, [Name | Names]);
names({record, _, Of, Name, Parts}, Names) when is_atom(Name) -> names([Of, Parts], [Name | Names]);
names({record_index, _, Name, Part}, Names) when is_atom(Name) -> names(Part, [Name | Names]);
names({record_field, _, Of, Name, Part}, Names) when is_atom(Name) -> names([Of, Part], [Name | Names]);
names({call, _, Called, [Of, {atom, _, Name}]}, Names)
  when element(3, Called) =:= is_record; element(1, Called) =:= remote, element(3, element(4, Called)) =:= is_record ->
    names(Of, [Name | Names]);
names({type, _, record, [{atom, _, Name} | More]}, Names) -> names(More, [Name | Names]);
names(Tuple, Names) when is_tuple(Tuple) -> names(tuple_to_list(Tuple), Names);
names([Head | Tail], Names) -> names(Tail, names(Head, Names));
names(_, Names) -> Names.

%% Without them. Options: of erl_expand_records.
rewrite(Used, Expr) -> rewrite(Used, Expr, []).

rewrite([], Expr, _) -> Expr;
rewrite(Used, Expr, Options) ->
    At = erl_anno:new(1),
    Forms = [Attribute || {_, Attribute} <- Used] ++ [{function, At, expression, 0, [{clause, At, [], [], [Expr]}]}],
    {function, _, expression, 0, [{clause, _, [], [], [Rewritten]}]} =
        lists:last(erl_expand_records:module(Forms, [strict_record_tests | Options])),
    Rewritten.

%% For io_lib_pretty: the fields of a tuple that looks like a record.
print_fun(Table) ->
    fun(Name, N) ->
            case ets:lookup(Table, Name) of
                [{_, {attribute, _, record, {_, Fields}}}] when length(Fields) =:= N -> [field(F) || F <- Fields];
                _ -> no
            end
    end.

field({typed_record_field, Field, _}) -> field(Field);
field({record_field, _, {atom, _, Name}, _}) -> Name;
field({record_field, _, {atom, _, Name}}) -> Name.
