%% Loads modules that a client brings, from .beam files or (what is compiled here) .erl files: all of them become
%% current in one step, or none does.
-module(minivm_load).
-export([files/2, quietly/2, line/1, in_old_code/1]).

%% Files that are there when a program or a prompt begins: nobody is told but of warnings. Modules in the order of
%% their files: {ok, [Module]} | {error, Text}, where Mark stands in front of what is no word of the compiler.
quietly([], _) ->
    {ok, []};
quietly(Names, Mark) ->
    Read = [{Name, filename:absname(Name), minivm:read_file(Name)} || Name <- Names],
    case [{reason, io_lib:format("~ts: ~ts", [Name, file:format_error(Why)])} || {Name, _, {error, Why}} <- Read] of
        [] ->
            case load([{File, Bytes} || {_, File, {ok, Bytes}} <- Read], false, standard_error) of
                {loaded, Modules} -> {ok, Modules};
                {error, Why} -> {error, text(Mark, Why)}
            end;
        Bad -> {error, text(Mark, Bad)}
    end.

%% [{File, Bytes}] -> ok | {error, Text}. Purge: processes that run old code are ended; else they are a
%% reason not to load.
files([], _) ->
    {error, "which files? Give FILE.beam...\n"};
files(Files, Purge) ->
    case load(Files, Purge, group_leader()) of
        {loaded, Modules} ->
            [io:put_chars(line(M)) || M <- Modules],
            ok;
        {error, Why} -> {error, [text("** ", Why), "nothing has been loaded\n"]}
    end.

text(Mark, Why) ->
    [case One of
         {reason, Text} -> [Mark, Text, $\n];
         {compiler, Text} -> Text
     end || One <- Why].

%% {loaded, [Module]} | {error, [{reason | compiler, Text}]}. Warnings of the compiler go to the device Told.
load(Files, Purge, Told) ->
    Prepared = [prepare(File, Bytes) || {File, Bytes} <- Files],
    case [Why || {error, Why} <- Prepared] of
        [] ->
            io:put_chars(Told, [Warnings || {_, Warnings} <- Prepared]),
            commit([P || {P, _} <- Prepared], Purge);
        Errors -> {error, Errors}
    end.

prepare(File, Bytes) ->
    case minivm_compile:is_source(File) of
        false -> prepare(File, Bytes, []);
        true ->
            case minivm_compile:file(File) of
                {ok, _, Code, Warnings} -> prepare(File, Code, Warnings);
                {error, Text} -> {error, {compiler, Text}}
            end
    end.

prepare(File, Bytes, Warnings) ->
    case minivm:prepare_bytes(Bytes, File) of
        {error, Why} -> {error, {reason, io_lib:format("~ts: ~ts", [File, Why])}};
        {Module, Code} -> {{Module, Code, File, Bytes}, Warnings}
    end.

commit(Prepared, Purge) ->
    Modules = [M || {M, _, _, _} <- Prepared],
    OnLoad = [M || {M, Code, _, _} <- Prepared, erlang:has_prepared_code_on_load(Code)],
    Twice = lists:usort(Modules -- lists:usort(Modules)),
    Old = case Purge of
              true -> [code:purge(M) || M <- Modules], [];
              false -> [M || M <- Modules, not code:soft_purge(M)]
          end,
    if
        Twice =/= [] ->
            nothing([io_lib:format("~tw: more than one of the files holds it", [M]) || M <- Twice]);
        Old =/= [] ->
            nothing([io_lib:format("~tw: code before the present one is still run by ~ts; --purge ends them",
                                   [M, pids(in_old_code(M))]) || M <- Old]);
        OnLoad =/= [], length(Modules) > 1 ->
            nothing([io_lib:format("~tw: has an on_load function, so it must be loaded alone", [M])
                     || M <- OnLoad]);
        OnLoad =/= [] ->
            [{M, _, File, Bytes}] = Prepared,
            loaded(Modules, code_server:call({load_binary, M, File, Bytes}));
        true ->
            loaded(Modules, code_server:call({finish_loading, [{M, {Code, File}} || {M, Code, File, _} <- Prepared],
                                              false}))
    end.

loaded(_, {error, Why}) when is_atom(Why) -> nothing([reason(Why)]);
loaded(_, {error, Errors}) -> nothing([io_lib:format("~tw: ~ts", [M, reason(Why)]) || {M, Why} <- Errors]);
loaded(Modules, _) -> {loaded, Modules}.

reason(sticky_directory) -> "belongs to kernel, stdlib, compiler or the VM itself (code:unstick_mod/1)";
reason(pending_on_load) -> "its on_load function is still running";
reason(not_purged) -> "somebody else has loaded it at the same time; try again";
reason(on_load_failure) -> "its on_load function failed";
reason(Why) -> io_lib:format("~tp", [Why]).

nothing(Reasons) -> {error, [{reason, R} || R <- Reasons]}.

pids([]) -> "nobody now";
pids(Pids) -> lists:join(", ", [pid_to_list(P) || P <- lists:sublist(Pids, 5)] ++
                             [io_lib:format("~b more", [length(Pids) - 5]) || length(Pids) > 5]).

%% What is loaded now, as a line of text.
line(M) ->
    #{current := #{engine := Engine, size := Size}} = minivm:code_info(M),
    io_lib:format("~tw: version ~ts, ~ts, ~b bytes~ts~n",
                  [M, version(M), Engine, Size,
                   case in_old_code(M) of
                       [] -> "";
                       Pids -> ["; the code before is still run by ", pids(Pids)]
                   end]).

%% -vsn of the module if it has one that is not made by the compiler, and its MD5.
version(M) -> minivm_prompt:version(M).

%% The processes that run, or refer to, old code of the module. One that does not answer soon counts: it
%% runs something long that is native.
in_old_code(M) ->
    case erlang:check_old_code(M) of
        false -> [];
        true ->
            ConnectBy = [{Pid, ask(Pid, M)} || Pid <- processes(), Pid =/= self()],
            Deadline = erlang:monotonic_time(millisecond) + 2000,
            [Pid || {Pid, Ref} <- ConnectBy, answer(Ref, Deadline)]
    end.

ask(Pid, M) ->
    Ref = make_ref(),
    async = erlang:check_process_code(Pid, M, [{async, Ref}, {allow_gc, false}]),
    Ref.

answer(Ref, Deadline) ->
    receive
        {check_process_code, Ref, false} -> false;
        {check_process_code, Ref, _} -> true
    after max(0, Deadline - erlang:monotonic_time(millisecond)) -> true
    end.
