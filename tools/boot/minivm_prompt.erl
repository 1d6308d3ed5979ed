%% The commands of the prompt: what begins with a colon.
-module(minivm_prompt).
-export([command/2, help/1, commands/0, version/1, record/2, glob/1, numbers/2]).

%% {Name, Arguments, What it does}
commands() ->
    [{"load", "[--purge] FILE...", "load modules; several change in one step"},
     {"modules", "[PATTERN]", "what is loaded: version, engine, size, when, processes still in old code"},
     {"ps", "[N]", "processes; the N with the most memory"},
     {"info", "PID", "all about a process: <0.80.0>, 80 or a registered name"},
     {"top", "[SECONDS]", "which processes work the most in that time (1)"},
     {"engine", "[MODULE jit|interp]", "move a module to the other engine"},
     {"disasm", "M[:F[/A]] [native]", "the instructions of a function, or its machine code"},
     {"events", "[-f] [N] [FILTER...]", "the last N (20) events of the recorder; -f: and what comes"},
     {"dump", "[FILE] [FILTER...] [--format F] [--crash]", "what the recorder holds, as minivm dump"},
     {"record", "[on|off|filter CATEGORY...] | start FILE [SIZE] [CATEGORY...] | stop FILE",
      "what the recorder records from now on; start: one more recording"},
     {"trace", "PATTERN, ... [when GUARD] [OPTION...]",
      "show calls: M:F/A, M:F, M or M:F(ARGUMENTS), or messages: send or receive; :help trace has the options"},
     {"untrace", "[PATTERN or NUMBER, ...]", "no more of it, or of anything"},
     {"traces", "", "what is traced, and what has been counted"},
     {"help", "[COMMAND]", "this"},
     {"quit", "", "leave the prompt; the VM goes on"}].

%% The text behind the colon -> ok | {error, Text} | quit. Context: see minivm_session.
command(Text, Context) ->
    {Name, Rest} = string:take(Text, " \t", true),
    Words = words(Rest),
    case named(Name) of
        {Full, _, _} -> run(Full, Words, string:trim(Rest), Context);
        Commands -> unclear([$: | Name], Commands)
    end.

%% A name may be cut short where it is still clear. A command, or all that it may be.
named(Name) ->
    Commands = [C || {N, _, _} = C <- commands(), Name =/= "", lists:prefix(Name, N)],
    case {lists:keyfind(Name, 1, Commands), Commands} of
        {{_, _, _} = Command, _} -> Command;
        {false, [Command]} -> Command;
        {false, _} -> Commands
    end.

unclear(Name, []) -> error_text("~ts: no such command; :help lists them", [Name]);
unclear(Name, Commands) ->
    {Others, [Last]} = lists:split(length(Commands) - 1, [[$: | N] || {N, _, _} <- Commands]),
    error_text("~ts: ambiguous; it may be ~ts or ~ts", [Name, lists:join(", ", Others), Last]).

error_text(Format, Args) -> {error, io_lib:format(Format ++ "~n", Args)}.

usage(Name) ->
    {_, Args, _} = lists:keyfind(Name, 1, commands()),
    error_text("it is used so: :~ts ~ts", [Name, Args]).

%% Words are apart by blanks; quotes keep them together.
words(Text) -> words(string:trim(Text), [], []).
words([], [], Words) -> lists:reverse(Words);
words([], Word, Words) -> lists:reverse([lists:reverse(Word) | Words]);
words([C | Rest], [], Words) when C =:= $\s; C =:= $\t -> words(Rest, [], Words);
words([C | Rest], Word, Words) when C =:= $\s; C =:= $\t -> words(Rest, [], [lists:reverse(Word) | Words]);
words([$" | Rest], Word, Words) ->
    {Quoted, After} = string:take(Rest, "\"", true),
    words(case After of [$" | A] -> A; [] -> [] end, lists:reverse(Quoted) ++ Word, Words);
words([C | Rest], Word, Words) -> words(Rest, [C | Word], Words).

run("help", Args, _, _) -> help(Args);
run("quit", [], _, _) -> quit;
run("modules", [], _, Context) -> modules("*", Context);
run("modules", [Pattern], _, Context) -> modules(Pattern, Context);
run("load", Words, _, Context) ->
    {Options, Files} = lists:partition(fun(W) -> lists:prefix("--", W) end, Words),
    case Options -- ["--purge"] of
        [] -> load(Files, Options =/= [], Context);
        ["--purge" | _] -> error_text(":load: --purge is there twice", []);
        [Unknown | _] -> error_text(":load: ~ts: no such option; there is --purge (a file of that name: ./~ts)",
                                    [Unknown, Unknown])
    end;
run("ps", [], _, Context) -> ps(infinity, Context);
run("ps", [N], _, Context) -> with_number(N, fun(Most) -> ps(Most, Context) end);
run("info", [Pid], _, Context) -> with_pid(Pid, fun(P) -> info(P, Context) end);
run("top", [], _, Context) -> top(1, Context);
run("top", [N], _, Context) -> with_number(N, fun(Seconds) -> top(Seconds, Context) end);
run("trace", [_ | _], Text, Context) -> trace(Text, Context);
run("untrace", _, Text, Context) -> untrace(Text, Context);
run("traces", [], _, Context) -> traces(Context);
run("disasm", [Which], _, _) -> disasm(Which, false);
run("disasm", [Which, "native"], _, _) -> disasm(Which, true);
run("events", Args, _, Context) -> events(Args, Context);
run("dump", Args, _, Context) -> dump(Args, Context);
run("record", Args, _, Context) -> record(Args, Context);
run("engine", [], _, _) ->
    io:format("~ts, unless a module asks for the other or was moved~n", [minivm:engine_name()]);
run("engine", [Module, Engine], _, _) -> engine(list_to_atom(Module), Engine);
run(Name, _, _, _) -> usage(Name).

help([]) ->
    io:put_chars(["Erlang expressions end with a dot. Commands:\n",
                  [help_line([N, " ", A], H) || {N, A, H} <- commands()],
                  "f() forgets all variables, f(X) one; b() shows them; v(N) is an earlier result, e(N) the expression, h() all.\n"
                  "rr(M or File) reads records, rd(Name, {Field, ...}) defines one; rl() shows them, rf() forgets them.\n"]);
help([":" ++ Name]) -> help([Name]);
help([Name]) ->
    case named(Name) of
        {N, A, H} ->
            io:format(":~ts ~ts~n    ~ts~n", [N, A, H]),
            N =:= "trace" andalso io:put_chars(trace_help()),
            ok;
        Commands -> unclear(Name, Commands)
    end;
help(_) -> usage("help").

trace_help() ->
    ["PATTERN: * and ? stand for parts of names (kv:p*, *:handle_call/3), also in modules that are loaded later;\n"
     "    send {put, _, _} and receive {'DOWN', _, _, _, _} are messages, all of them without a pattern\n"
     "GUARD: kv:put(_, V) when V > 10, kv:put/2 when [_, V] -> V > 10\n"
     "    In patterns and guards a variable of the prompt is its value, and its records may be used.\n"
     "OPTION:\n",
     [io_lib:format("    ~-18ts ~ts~n", [[Name, $\s, Argument], Help])
      || {Name, Argument, Help} <- minivm_trace_words:options()],
     "What may wait or be shown is limited: 1000 events a second and pattern, 10000 that wait.\n"].

help_line(Use, Help) ->
    case string:length(Use) of
        L when L =< 30 -> io_lib:format("  :~-30ts ~ts~n", [Use, Help]);
        _ -> io_lib:format("  :~ts~n~34c~ts~n", [Use, $\s, Help])
    end.

with_number(Text, Fun) ->
    case string:to_integer(Text) of
        {N, []} when is_integer(N), N > 0 -> Fun(N);
        _ -> error_text("~ts: a number above 0 is expected", [Text])
    end.

with_pid(Text, Fun) ->
    case pid(Text) of
        {ok, Pid} -> Fun(Pid);
        {error, Why} -> error_text("~ts: ~ts", [Text, Why])
    end.

pid(Text) ->
    Trimmed = string:trim(Text, both, "<>"),
    case re:run(Trimmed, "^(0\\.)?([0-9]+)(\\.[0-9]+)?$", [{capture, none}]) of
        match ->
            List = case string:split(Trimmed, ".", all) of
                       [N] -> "<0." ++ N ++ ".0>";
                       ["0", N] -> "<0." ++ N ++ ".0>";
                       [N, S] -> "<0." ++ N ++ "." ++ S ++ ">";
                       _ -> "<" ++ Trimmed ++ ">"
                   end,
            Pid = list_to_pid(List),
            case is_process_alive(Pid) of
                true -> {ok, Pid};
                false -> {error, "there is no such process (any more)"}
            end;
        nomatch ->
            case catch whereis(list_to_existing_atom(Text)) of
                Pid when is_pid(Pid) -> {ok, Pid};
                _ -> {error, "neither a process such as <0.80.0> or 80 nor the name of one"}
            end
    end.

%% ---- modules ---------------------------------------------------------------------------------------------

load(Names, Purge, #{dir := Dir}) ->
    Files = [{Name, minivm:read_file(Name)} || N <- Names, Name <- [filename:absname(N, Dir)]],
    case [io_lib:format("** ~ts: ~ts~n", [Name, file:format_error(Why)]) || {Name, {error, Why}} <- Files] of
        [] -> minivm_load:files([{Name, Bytes} || {Name, {ok, Bytes}} <- Files], Purge);
        Errors -> {error, [Errors, "nothing has been loaded\n"]}
    end.

modules(Pattern, Context) ->
    Wanted = glob(Pattern),
    All = [M || M <- lists:sort(erlang:loaded()), re:run(atom_to_list(M), Wanted, [{capture, none}]) =:= match],
    case All of
        [] -> error_text("no module is loaded that is called ~ts", [Pattern]);
        _ -> table([{left, "module"}, {left, "version"}, {left, "engine"}, {right, "bytes"}, {left, "loaded"},
                    {left, "in old code"}],
                   [Row || M <- All, Row <- module(M, minivm:code_info(M))],
                   Context)
    end.

module(M, #{current := #{engine := Engine, size := Size, loaded_ms := Loaded}}) ->
    [[io_lib:format("~tw", [M]), version(M), atom_to_list(Engine), integer_to_list(Size), time(Loaded),
      case {erlang:check_old_code(M), minivm_load:in_old_code(M)} of
          {false, _} -> "-";
          {true, []} -> "nobody";
          {true, Pids} -> io_lib:format("~b: ~ts", [length(Pids),
                                                    lists:join(" ", [pid_to_list(P) || P <- lists:sublist(Pids, 3)])
                                                    ++ [" ..." || length(Pids) > 3]])
      end]];
%% Deleted, and somebody may still run it.
module(M, #{old := #{engine := Engine, size := Size, loaded_ms := Loaded}}) ->
    [[io_lib:format("~tw", [M]), "deleted", atom_to_list(Engine), integer_to_list(Size), time(Loaded),
      integer_to_list(length(minivm_load:in_old_code(M)))]];
module(_, _) -> [].                     % gone meanwhile

version(M) ->
    try
        <<Number:128>> = Md5 = erlang:get_module_info(M, md5),
        <<Short:32, _/binary>> = Md5,
        Hex = io_lib:format("~8.16.0b", [Short]),
        case lists:keyfind(vsn, 1, M:module_info(attributes)) of
            {vsn, [Number]} -> Hex;
            {vsn, [V]} when is_integer(V), V > 1 bsl 64 -> Hex;  % of the code before a parse transform
            {vsn, Vs} ->
                %% A string stands for itself, all else in a list.
                V = case {io_lib:printable_unicode_list(Vs), Vs} of
                        {false, [One]} -> One;
                        _ -> Vs
                    end,
                io_lib:format("~tp (~ts)", [V, Hex]);
            false -> Hex
        end
    catch
        error:_ -> "?"
    end.

time(Ms) ->
    {{Y, Mo, D}, {H, Mi, S}} = calendar:system_time_to_local_time(Ms, millisecond),
    io_lib:format("~b-~2..0b-~2..0b ~2..0b:~2..0b:~2..0b", [Y, Mo, D, H, Mi, S]).

%% As a shell's: * and ?.
glob(Pattern) ->
    Quoted = re:replace(Pattern, "[][.+^$(){}|\\\\]", "\\\\&", [global, unicode, {return, list}]),
    Stars = re:replace(Quoted, "\\*", ".*", [global, unicode, {return, list}]),
    "^" ++ re:replace(Stars, "\\?", ".", [global, unicode, {return, list}]) ++ "$".

engine(Module, Engine) when Engine =:= "jit"; Engine =:= "interp" ->
    try minivm:set_engine(Module, list_to_atom(Engine)) of
        {module, _} -> io:put_chars(minivm_load:line(Module));
        {error, Why} -> error_text("~tw: ~ts", [Module, engine_error(Why)])
    catch
        error:notsup -> error_text("there is no JIT in this VM, or no memory for its code", [])
    end;
engine(_, Engine) -> error_text("~ts: an engine is jit or interp", [Engine]).

engine_error(not_loaded) -> "is not loaded";
engine_error(nofile) -> "its file is not there any more";
engine_error(changed) -> "its file holds another version by now; :load it instead";
engine_error(not_purged) -> "processes still run the code before the present one";
engine_error(on_load) -> "its on_load function would run again";
engine_error(Why) -> io_lib:format("~tp", [Why]).

%% ---- processes -------------------------------------------------------------------------------------------

ps(N, Context) ->
    All = [{proplists:get_value(memory, I), Pid, I}
           || Pid <- processes(),
              I <- [process_info(Pid, [registered_name, initial_call, current_function, status, message_queue_len,
                                       memory, reductions, dictionary])], I =/= undefined],
    Shown = case N of
                infinity -> lists:keysort(2, All);
                _ -> lists:sublist(lists:reverse(lists:sort(All)), N)
            end,
    table([{left, "process"}, {left, "name or first function"}, {left, "status"}, {left, "in"}, {right, "messages"},
           {right, "bytes"}, {right, "reductions"}],
          [[pid_to_list(Pid), name(I), atom_to_list(get(status, I)), mfa(get(current_function, I)),
            integer_to_list(get(message_queue_len, I)), integer_to_list(Memory),
            integer_to_list(get(reductions, I))] || {Memory, Pid, I} <- Shown],
          Context),
    io:format("~b processes~n", [length(All)]).

get(Key, Info) -> proplists:get_value(Key, Info).

name(Info) ->
    case get(registered_name, Info) of
        Name when is_atom(Name), Name =/= [] -> io_lib:format("~tw", [Name]);
        _ ->
            case proplists:get_value('$initial_call', get(dictionary, Info)) of
                {_, _, _} = Mfa -> mfa(Mfa);
                _ -> mfa(get(initial_call, Info))
            end
    end.

mfa({M, F, A}) -> io_lib:format("~tw:~tw/~b", [M, F, A]);
mfa(_) -> "?".

info(Pid, Context) ->
    Items = [registered_name, status, initial_call, current_function, message_queue_len, messages, links, monitors,
             monitored_by, trap_exit, priority, group_leader, reductions, memory, total_heap_size, stack_size,
             dictionary],
    case process_info(Pid, Items) of
        undefined -> error_text("~tp has ended", [Pid]);
        Info ->
            io:format("~tp~n", [Pid]),
            [io:put_chars([io_lib:format("  ~-18ts ", [Key]), minivm_eval:show(short(Key, Value), 22, Context), $\n])
             || {Key, Value} <- Info, Value =/= []],
            case process_info(Pid, current_stacktrace) of
                {current_stacktrace, Stack} ->
                    io:put_chars("  stack\n"),
                    [io:format("    ~ts~ts~n", [mfa(arity(Frame)), place(Frame)]) || Frame <- Stack];
                undefined -> ok
            end,
            ok
    end.

%% A long queue is looked at from its front.
short(messages, Messages) when length(Messages) > 10 ->
    lists:sublist(Messages, 10) ++ ['...'];
short(_, Value) -> Value.

arity({M, F, A, _}) when is_list(A) -> {M, F, length(A)};
arity({M, F, A, _}) -> {M, F, A}.

place({_, _, _, Location}) ->
    case {proplists:get_value(file, Location), proplists:get_value(line, Location)} of
        {undefined, _} -> "";
        {File, Line} -> io_lib:format(" (~ts, line ~b)", [File, Line])
    end.

top(Seconds, Context) ->
    Before = reductions(),
    timer:sleep(1000 * Seconds),
    Work = [{Now - maps:get(Pid, Before, 0), Pid} || {Pid, Now} <- maps:to_list(reductions()), Pid =/= self()],
    Total = max(1, lists:sum([W || {W, _} <- Work])),
    Rows = [[pid_to_list(Pid), io_lib:format("~.1f", [100 * W / Total]), integer_to_list(W div Seconds), name(I),
             mfa(get(current_function, I)), integer_to_list(get(message_queue_len, I)),
             integer_to_list(get(memory, I))]
            || {W, Pid} <- lists:sublist(lists:reverse(lists:sort(Work)), 15), W > 0,
               I <- [process_info(Pid, [registered_name, initial_call, current_function, message_queue_len, memory,
                                        dictionary])], I =/= undefined],
    table([{left, "process"}, {right, "%"}, {right, "reductions/s"}, {left, "name or first function"}, {left, "in"},
           {right, "messages"}, {right, "bytes"}], Rows, Context),
    io:format("~b processes, ~b ready to run~n", [erlang:system_info(process_count),
                                                  erlang:statistics(run_queue)]).

reductions() ->
    maps:from_list([{Pid, R} || Pid <- processes(), {reductions, R} <- [process_info(Pid, reductions)]]).

%% ---- tracing ---------------------------------------------------------------------------------------------

tracer(#{session := Session}) ->
    Session ! {tracer, self()},
    receive {tracer, Pid} -> Pid end.

trace(Text, #{memory := Memory} = Context) ->
    case minivm_trace:set(tracer(Context), Text, {minivm_eval:bindings(Memory), minivm_eval:records(Memory)}, [self()]) of
        {error, Why} -> error_text(":trace: ~ts", [Why]);
        {ok, Set} ->
            case lists:usort([What || {What, _, _} <- Set, is_atom(What)]) of
                [] -> io:put_chars(functions(lists:sum([N || {_, N, _} <- Set])));
                Messages -> io:format("messages: ~ts~n", [lists:join(", ", [atom_to_list(M) || M <- Messages])])
            end,
            [io:format("in place of ~ts~n", [Old]) || {_, _, Old} <- Set, Old =/= none],
            ok
    end.

functions(0) -> "no function yet; those of modules that are loaded from now on\n";
functions(1) -> "1 function\n";
functions(N) -> io_lib:format("~b functions~n", [N]).

untrace(Text, Context) ->
    case minivm_trace:unset(tracer(Context), Text) of
        {error, Why} -> error_text(":untrace: ~ts", [Why]);
        {ok, N} -> io:format("~b trace~ts off~n", [N, case N of 1 -> ""; _ -> "s" end])
    end.

traces(Context) ->
    case minivm_trace:list(tracer(Context)) of
        {error, Why} -> error_text(":traces: ~ts", [Why]);
        [] -> io:put_chars("nothing is traced\n");
        Traces ->
            table([{left, "trace"}, {right, "functions"}, {right, "events"}, {right, "at most"}, {right, "number"},
                   {left, ""}],
                  [[Text, case Kind of message -> "-"; _ -> integer_to_list(Functions) end,
                    case Kind of
                        _ when Kind =:= call; Kind =:= message -> integer_to_list(Events);
                        _ -> "-"
                    end,
                    case Limit of
                        _ when Kind =/= call, Kind =/= message -> "-";
                        {N, total} -> integer_to_list(N);
                        {N, second} -> [integer_to_list(N), "/s"]
                    end,
                    integer_to_list(Id),
                    case State of
                        flooded -> "a flood: only counted";
                        ended -> "its process has ended";
                        on -> ""
                    end]
                   || #{text := Text, functions := Functions, events := Events, limit := Limit, kind := Kind,
                        state := State, id := Id} <- Traces],
                  Context),
            io:put_chars(numbers(Traces, Context))
    end.

%% What minivm_trace:list/1 says has been counted: by function, the one with the most first.
numbers(Traces, Context) -> [numbers(Kind, Numbers, Context) || #{kind := Kind, numbers := [_ | _] = Numbers} <- Traces].

numbers(call_time, Numbers, Context) ->
    Rows = [{Seconds * 1000000 + Us, Mfa, Pid, Calls} || {Mfa, All} <- Numbers, {Pid, Calls, Seconds, Us} <- All],
    lines([{left, "function"}, {left, "process"}, {right, "calls"}, {right, "us"}, {right, "us/call"}],
          [[mfa(Mfa), pid_to_list(Pid), integer_to_list(Calls), integer_to_list(Us), each(Us, Calls)]
           || {Us, Mfa, Pid, Calls} <- lists:reverse(lists:sort(Rows))], Context);
numbers(call_memory, Numbers, Context) ->
    Rows = [{Words, Mfa, Pid, Calls} || {Mfa, All} <- Numbers, {Pid, Calls, Words} <- All],
    lines([{left, "function"}, {left, "process"}, {right, "calls"}, {right, "words"}, {right, "words/call"}],
          [[mfa(Mfa), pid_to_list(Pid), integer_to_list(Calls), integer_to_list(Words), each(Words, Calls)]
           || {Words, Mfa, Pid, Calls} <- lists:reverse(lists:sort(Rows))], Context);
numbers(_, Numbers, _) ->
    [io_lib:format("~ts  ~b calls~n", [mfa(Mfa), N])
     || {N, Mfa} <- lists:reverse(lists:sort([{N, Mfa} || {Mfa, N} <- Numbers]))].

each(_, 0) -> "-";
each(Sum, Calls) -> io_lib:format("~.2f", [Sum / Calls]).

%% ---- the recorder ----------------------------------------------------------------------------------------

%% on | off | filter and categories, apart or with commas; start and stop of one more; nothing: what is on.
record(["start", File | Words], #{dir := Dir}) ->
    case lists:partition(fun([C | _]) -> C >= $0 andalso C =< $9 end, Words) of
        {[_, _ | _], _} -> usage("record");
        {Sizes, Names} ->
            Categories = case Names of [] -> "all"; _ -> lists:join(",", Names) end,
            started(minivm:recorder_start(text(filename:absname(File, Dir)), text(Sizes),
                                          text(Categories)))
    end;
record(["stop", File], #{dir := Dir}) ->
    started(minivm:recorder_stop(text(filename:absname(File, Dir))));
record([What | _], _) when What =:= "start"; What =:= "stop" ->
    error_text("~ts: which file? start FILE [SIZE] [CATEGORY...], stop FILE", [What]);
record(Words, _) -> record(Words).

started(ok) -> record([]);
started({error, Text}) -> error_text("~ts", [Text]).

record([]) -> switched(minivm:recorder_switch(status, <<"all">>));
record(["status"]) -> record([]);
record(["on"]) -> switched(minivm:recorder_switch(on, <<"all">>));
record(["off"]) -> switched(minivm:recorder_switch(off, <<"all">>));
record([What | Names]) when What =:= "on"; What =:= "off"; What =:= "filter", Names =/= [] ->
    switched(minivm:recorder_switch(list_to_atom(What), text(lists:join(",", Names))));
record(["filter"]) -> error_text("filter: which categories? filter CATEGORY...", []);
record([What | _]) ->
    error_text("~ts: on, off or filter is expected, then categories; or start FILE, stop FILE", [What]).

switched({error, Text}) -> error_text("~ts", [Text]);
switched({ok, [{File, On, _} | More]}) ->
    io:format("recorded: ~ts~nto ~ts~n", [names(On), case File of <<>> -> "memory only"; _ -> File end]),
    [io:format("also: ~ts~nto ~ts~n", [names(Names), Other]) || {Other, Names, _} <- More],
    ok.

names(<<>>) -> "nothing";
names(On) -> On.

text(Chars) -> unicode:characters_to_binary(Chars).

%% --last 5s, --pid P, --category C, --match TEXT, --places -> {Filters, Other words} | {error, Text}
filters(Words) -> filters(Words, [], []).
filters([], Filters, Others) -> {lists:reverse(Filters), lists:reverse(Others)};
filters(["--format", Value | _], _, _)
  when Value =/= "text", Value =/= "json", Value =/= "ctf", Value =/= "perfetto", Value =/= "terms" ->
    error_text("--format ~ts: there are text, json, ctf, perfetto, terms", [Value]);
%% Who has the name now; a name that nobody has any more may be in the recording.
filters(["--pid", Value | Rest], Filters, Others) ->
    Pid = case pid(Value) of
              {ok, P} -> pid_to_list(P);
              {error, _} -> Value
          end,
    filters(Rest, [{pid, text(Pid)} | Filters], Others);
filters([[$-, $- | Name], Value | Rest], Filters, Others)
  when Name =:= "last"; Name =:= "category"; Name =:= "match"; Name =:= "format" ->
    filters(Rest, [{list_to_atom(Name), text(Value)} | Filters], Others);
filters(["--crash" | Rest], Filters, Others) -> filters(Rest, [{crash, <<>>} | Filters], Others);
filters(["--places" | Rest], Filters, Others) -> filters(Rest, [{places, <<>>} | Filters], Others);
filters([[$-, $- | _] = Word | _], _, _) ->
    error_text("~ts: an option that is not known or lacks its value; there are --last TIME, --pid PID, "
               "--category NAMES, --match TEXT, --places", [Word]);
filters([Word | Rest], Filters, Others) -> filters(Rest, Filters, [Word | Others]).

dump(Words, #{dir := Dir}) ->
    case filters(Words) of
        {error, _} = Error -> Error;
        {Filters, []} -> dumped(minivm:recorder_dump(Filters), "");
        {Filters, [File]} ->
            Path = filename:absname(File, Dir),
            dumped(minivm:recorder_dump([{output, text(Path)} | Filters]), Path);
        _ -> usage("dump")
    end.

dumped({ok, Text}, _) -> put_text(Text);
dumped(ok, Path) -> io:format("written to ~ts~n", [Path]);
dumped({error, Text}, _) -> error_text("~ts", [Text]).

%% In pieces: an I/O request is copied.
put_text(<<Piece:65536/binary, Rest/binary>>) ->
    %% Not in the middle of a character.
    Back = length(lists:takewhile(fun(B) -> B band 16#c0 =:= 16#80 end,
                                  lists:reverse(binary_to_list(Piece, 65536 - 3, 65536)))) + 1,
    Whole = 65536 - Back,
    <<First:Whole/binary, Left/binary>> = Piece,
    io:put_chars(First),
    put_text(<<Left/binary, Rest/binary>>);
put_text(Text) -> io:put_chars(Text).

events(Words, #{session := Session}) ->
    case filters(Words) of
        {error, _} = Error -> Error;
        {Filters, Others} ->
            %% What showing them makes happen is not shown.
            Own = [{without, text(pid_to_list(P))} || P <- [self(), group_leader(), Session]],
            case {lists:member("-f", Others), lists:delete("-f", Others)} of
                {Follow, []} -> events(Follow, 20, Own ++ Filters);
                {Follow, [N]} -> with_number(N, fun(Number) -> events(Follow, Number, Own ++ Filters) end);
                _ -> usage("events")
            end
    end.

events(Follow, N, Options) ->
    case minivm:recorder_lines(Options, N, <<>>) of
        {error, Text} -> error_text("~ts", [Text]);
        {ok, Text, Cursor, _} ->
            put_text(Text),
            case Follow of
                true -> follow(Options, Cursor);
                false -> ok
            end
    end.

%% Until the client interrupts. It gets no more than it reads, and no more than a screenful at a time: a
%% flood is counted.
follow(Options, Cursor) ->
    timer:sleep(250),
    case minivm:recorder_lines(Options, 1000, Cursor) of
        {error, Text} -> error_text("~ts", [Text]);
        {ok, Text, Next, Missed} ->
            Missed > 0 andalso io:format("... events were overwritten before they could be shown~n"),
            put_text(Text),
            follow(Options, Next)
    end.

%% ---- code ------------------------------------------------------------------------------------------------

disasm(Which, Native) ->
    case string:split(Which, ":") of
        [Module] -> disasm(Module, <<>>, Native);
        [Module, Function] -> disasm(Module, text(Function), Native)
    end.

disasm(Name, Function, Native) ->
    M = list_to_atom(string:trim(Name, both, "'")),
    case erlang:module_loaded(M) andalso file_of(M) of
        false -> error_text("~ts: is not loaded", [Name]);
        {error, Why} -> error_text("~ts: ~ts", [Name, Why]);
        {ok, Bytes} ->
            case minivm:disasm(Bytes, erlang:get_module_info(M, md5), Function, Native) of
                {ok, Text} -> put_text(Text);
                {error, Why} -> error_text("~ts: ~ts", [Name, Why])
            end
    end.

file_of(M) ->
    case code:is_loaded(M) of
        {file, [_ | _] = File} ->
            case minivm:read_file(File) of
                {ok, Bytes} -> {ok, Bytes};
                {error, Why} -> {error, [File, ": ", file:format_error(Why)]}
            end;
        _ -> {error, "came from no file"}
    end.

%% ---- tables ----------------------------------------------------------------------------------------------

%% Columns: {left | right, Title}; rows of iodata. Columns are as wide as they need to be.
table(Columns, Rows, Context) -> io:put_chars(lines(Columns, Rows, Context)).

lines(Columns, Rows0, Context) ->
    Rows = [[lists:flatten(Cell) || Cell <- Row] || Row <- Rows0],
    Titles = [Title || {_, Title} <- Columns],
    Widths = [lists:max([string:length(C) || C <- Column]) || Column <- transpose([Titles | Rows])],
    [Top | Lines] = [string:trim(lists:join("  ", [pad(Side, W, C)
                                                   || {{Side, _}, W, C} <- lists:zip3(Columns, Widths, Row)]),
                                 trailing)
                     || Row <- [Titles | Rows]],
    [[Line, $\n] || Line <- [minivm_colours:paint(title, Top, Context) | Lines]].

transpose([[] | _]) -> [];
transpose(Rows) -> [[hd(R) || R <- Rows] | transpose([tl(R) || R <- Rows])].

pad(left, W, Cell) -> string:pad(Cell, W);
pad(right, W, Cell) -> string:pad(Cell, W, leading).
