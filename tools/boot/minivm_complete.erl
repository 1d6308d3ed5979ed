%% What could follow the beginning of a line at the prompt: commands, modules, functions, variables and
%% files.
-module(minivm_complete).
-export([line/3]).

-define(SHOWN, 200).                    % choices; more are only counted

%% {Text that all choices begin with beyond what is there, the choices as they are to be shown}
line(Line, Memory, Context) ->
    {Prefix, Choices} = choices(Line, Memory, Context),
    Fitting = lists:usort([C || C <- Choices, lists:prefix(Prefix, C)]),
    case {Fitting, common(Fitting)} of
        {[], _} -> {"", ""};
        {[One], _} -> {lists:nthtail(length(Prefix), One), ""};
        {_, Common} when length(Common) > length(Prefix) -> {lists:nthtail(length(Prefix), Common), ""};
        _ -> {"", show(Fitting, maps:get(columns, Context))}
    end.

%% ":comm" | ":command wo" | an expression
choices(":untrace " ++ Arguments, _, Context) -> {Arguments, traces(Context)};
choices(":" ++ Rest, Memory, Context) ->
    case string:split(Rest, " ") of
        [Name] -> {":" ++ Name, [":" ++ N ++ " " || {N, _, _} <- minivm_prompt:commands()]};
        [Command, Arguments] ->
            Word = lists:reverse(element(1, string:take(lists:reverse(Arguments), " ", true))),
            arguments(Command, Word, Memory, Context)
    end;
choices(Line, Memory, _) -> expression(Line, Memory).

arguments("load", Word, _, #{dir := Dir}) -> files(Word, Dir);
arguments("dump", Word, _, #{dir := Dir}) -> files(Word, Dir);
arguments("modules", Word, _, _) -> {Word, loaded()};
arguments("help", Word, _, _) -> {Word, [N || {N, _, _} <- minivm_prompt:commands()]};
arguments("engine", Word, _, _) -> {Word, [M ++ " " || M <- loaded()] ++ ["jit", "interp"]};
arguments("info", Word, _, _) -> {Word, [atom_to_list(N) || N <- registered()]};
arguments("trace", Word, Memory, _) ->
    case expression(Word, Memory) of
        {Last, Choices} when Last =:= Word ->
            case string:split(Word, ":") of
                [Module, _] -> {Word, [Module ++ ":" ++ F || F <- with_arities(Module)]};
                _ ->
                    {Word, ["send ", "receive " | [N ++ " " || {N, _, _} <- minivm_trace_words:options()]] ++ Choices}
            end;
        Inside -> Inside
    end;
arguments(_, Word, Memory, _) -> expression(Word, Memory).

traces(#{tracer := Tracer}) when is_pid(Tracer) -> [T || #{text := T} <- minivm_trace:list(Tracer)];
traces(_) -> [].

files(Word, Dir) ->
    {Base, Folder} = case filename:dirname(Word ++ "x") of
                         "." when Word =:= ""; hd(Word) =/= $. -> {"", Dir};
                         D -> {filename:join(D, "") ++ "/", filename:absname(D, Dir)}
                     end,
    case file:list_dir(Folder) of
        {ok, Names} -> {Word, [Base ++ N || N <- Names]};
        _ -> {Word, []}
    end.

loaded() -> [io_lib:write_atom(M) || M <- erlang:loaded()].

%% The last word: a variable, `module:fun`, or the beginning of a module's name.
expression(Line, Memory) ->
    Is = fun(C) -> C =:= $_ orelse C =:= $@ orelse C =:= $: orelse (C >= $0 andalso C =< $9) orelse
                       (C >= $a andalso C =< $z) orelse (C >= $A andalso C =< $Z) end,
    Word = lists:reverse(lists:takewhile(Is, lists:reverse(Line))),
    case string:split(Word, ":") of
        [[C | _]] when C >= $A, C =< $Z; C =:= $_ ->
            {Word, [atom_to_list(V) || V <- minivm_eval:variables(Memory)]};
        [_] -> {Word, [M ++ ":" || M <- loaded()]};
        [Module, _] ->
            Known = try list_to_existing_atom(Module) of
                        M -> functions(M)
                    catch
                        error:_ -> []
                    end,
            {Word, [Module ++ ":" ++ F ++ "(" || F <- Known]}
    end.

%% All functions of a module, those that it does not export as well.
with_arities(Module) ->
    try
        M = list_to_existing_atom(Module),
        _ = code:ensure_loaded(M),
        [io_lib:write_atom(F) ++ "/" ++ integer_to_list(A) || {F, A} <- erlang:get_module_info(M, functions)]
    catch
        error:_ -> []
    end.

functions(M) ->
    case erlang:module_loaded(M) orelse code:which(M) =/= non_existing of
        true ->
            _ = code:ensure_loaded(M),
            [io_lib:write_atom(F) || {F, _} <- try M:module_info(exports) catch error:_ -> [] end];
        false -> []
    end.

common([]) -> "";
common([One]) -> One;
common(All) ->
    First = hd(All),
    Last = lists:last(All),             % in order: what these two share, all do
    common(First, Last).
common([C | A], [C | B]) -> [C | common(A, B)];
common(_, _) -> [].

%% In columns.
show(All, Columns) ->
    Shown = [hd(string:split(C, "(")) || C <- lists:sublist(All, ?SHOWN)],
    Width = 2 + lists:max([length(C) || C <- Shown]),
    PerLine = max(1, Columns div Width),
    [lists:join("\n", [string:trim([string:pad(C, Width) || C <- Row], trailing) || Row <- rows(Shown, PerLine)]),
     [io_lib:format("~n~b more", [length(All) - ?SHOWN]) || length(All) > ?SHOWN]].

rows([], _) -> [];
rows(All, N) when length(All) =< N -> [All];
rows(All, N) ->
    {Row, Rest} = lists:split(N, All),
    [Row | rows(Rest, N)].
