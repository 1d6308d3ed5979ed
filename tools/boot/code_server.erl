%% The process behind `code` in a bare boot: loads, deletes and purges on request, runs on_load functions,
%% knows where loaded modules came from and which are sticky.
%%
%% on_load: the module is in the VM, but not current. Its function runs in a process of its own, and a
%% process that asks for the module meanwhile waits for it; the server goes on. Modules that the VM finds by
%% itself come here only if they have an on_load function.
-module(code_server).
-export([start/0, call/1, load_and_apply/3, load_and_apply_fun/3, undefined_fun/2, load_program/1,
         set_engine/3, object_code/2, read_file/1, list_dir/1, exists/1,
         app_name/1, app_dir/1]).

-record(state, {db :: ets:table(),  % {Module, File} as loaded here, {{sticky, Module}}
                on_load = [] :: [{{pid(), reference()}, module(), [{pid(), fun()}]}]}).

call(Request) ->
    Ref = erlang:monitor(process, code_server),
    code_server ! {code_call, self(), Request},
    receive
        {code_server, Reply} ->
            erlang:demonitor(Ref, [flush]),
            Reply;
        {'DOWN', Ref, process, _, _} ->
            exit({'DOWN', code_server, Request})
    end.

%% ---- called by the VM ---------------------------------------------------------------------------------

%% The module of a call has an on_load function.
load_and_apply(M, F, Args) ->
    _ = ensure_loaded(M),
    minivm:apply_loaded(M, F, Args).

ensure_loaded(M) ->
    case whereis(code_server) =:= self() of
        true -> {error, deadlock};
        false -> call({ensure_loaded, M})
    end.

load_and_apply_fun(M, Fun, Args) ->
    case ensure_loaded(M) of
        {module, M} ->
            case minivm:fun_is_loaded(Fun) of
                true -> apply(Fun, Args);
                false -> bad_fun(Fun)
            end;
        _ -> undefined_fun(Fun, Args)
    end.

bad_fun(Fun) ->
    try erlang:error({badfun, Fun})
    catch error:Reason:Trace -> erlang:raise(error, Reason, tl(Trace))
    end.

%% The fun's module is not there.
undefined_fun(Fun, Args) ->
    try erlang:error(undef)
    catch error:undef:Trace -> erlang:raise(error, undef, [{Fun, Args, []} | tl(Trace)])
    end.

%% minivm:set_engine/2,3
set_engine(M, Engine, Code) ->
    case whereis(code_server) =:= self() of
        true -> {error, deadlock};
        false -> call({set_engine, M, Engine, Code})
    end.

%% ---- called by the boot ---------------------------------------------------------------------------------

%% A module with an on_load function that was given as a file.
load_program(Path) ->
    call({load_abs, filename:rootname(Path), list_to_atom(filename:basename(Path, ".beam"))}).

start() ->
    process_flag(trap_exit, true),
    Db = ets:new(code, [private]),
    ets:insert(Db, [{{sticky, M}} || M <- sticky_modules()]),
    loop(#state{db = Db}).

%% Those of kernel, stdlib and compiler, as on erl, and the VM's own. Their directories are looked at when
%% they are asked for: see is_sticky/2.
sticky_modules() -> [code, code_server, logger, minivm_boot, minivm_io].

%% Anybody may send anything: what makes no sense is refused, and the server goes on.
loop(S) ->
    receive
        {code_call, From, Request} when is_pid(From) ->
            case try handle(Request, From, S) catch _:_ -> {reply, {error, badarg}, S} end of
                {reply, Reply, S1} ->
                    From ! {code_server, Reply},
                    loop(S1);
                {noreply, S1} -> loop(S1)
            end;
        {purge_moved, Moved, Delay} ->
            catch purge_moved(Moved, Delay),
            loop(S);
        {'DOWN', Ref, process, Pid, Result} ->
            loop(try on_load_done({Pid, Ref}, Result, S) catch _:_ -> S end);
        _ ->
            loop(S)
    end.

%% ---- requests -------------------------------------------------------------------------------------------

handle({ensure_loaded, M}, From, S) ->
    after_on_load(M, From, S,
                  fun(_, S1) ->
                          case erlang:module_loaded(M) of
                              true -> {reply, {module, M}, S1};
                              false -> ensure_loaded(M, From, S1)
                          end
                  end);
handle({load_file, M}, From, S) ->
    after_on_load(M, From, S,
                  fun(_, S1) ->
                          case object_code(M, minivm:code_path()) of
                              error -> {reply, {error, nofile}, S1};
                              {M, Binary, File} -> load(M, File, Binary, From, S1)
                          end
                  end);
handle({load_abs, File, M}, From, S) ->
    case is_file_name(File) of
        false -> {reply, {error, badarg}, S};
        true ->
            Name = absolute(lists:concat([File, code:objfile_extension()])),
            case read_file(Name) of
                {ok, Binary} ->
                    after_on_load(M, From, S, fun(_, S1) -> load(M, Name, Binary, From, S1) end);
                {error, _} -> {reply, {error, nofile}, S}
            end
    end;
handle({load_binary, M, File, Binary}, From, S) ->
    case is_file_name(File) of
        false -> {reply, {error, badarg}, S};
        true ->
            _ = erlang:module_loaded(M) andalso purge(M),
            after_on_load(M, From, S, fun(_, S1) -> load(M, File, Binary, From, S1) end)
    end;
handle({finish_loading, Prepared, OnlyMissing}, _, S) ->
    {reply, finish_loading(Prepared, OnlyMissing, S), S};
handle({delete, M}, _, S) ->
    case catch erlang:delete_module(M) of
        true ->
            ets:delete(S#state.db, M),
            {reply, true, S};
        _ -> {reply, false, S}
    end;
handle({purge, M}, _, S) -> {reply, purge(M), S};
handle({soft_purge, M}, _, S) -> {reply, erts_code_purger:soft_purge(M), S};
handle({set_engine, M, Engine, Code}, From, S) ->
    after_on_load(M, From, S, fun(_, S1) -> {reply, move(M, Engine, Code, S1), S1} end);
handle({is_loaded, M}, _, S) -> {reply, loaded_file(M, S), S};
handle(all_loaded, _, S) ->
    {reply, [{M, File} || M <- erlang:loaded(), {file, File} <- [loaded_file(M, S)]], S};
handle({set_path, Path}, _, S) -> {reply, set_path([normal_name(D) || D <- Path]), S};
handle({add_path, Where, Dir}, _, S) -> {reply, add_path(Where, Dir), S};
handle({add_paths, Where, Dirs}, _, S) ->
    lists:foreach(fun(Dir) -> catch add_path(Where, Dir) end, Dirs),
    {reply, ok, S};
handle({del_path, Name}, _, S) -> {reply, del_path(Name), S};
handle({replace_path, Name, Dir}, _, S) -> {reply, replace_path(Name, Dir), S};
handle({stick_dir, Dir, On}, _, S) ->
    case list_dir(Dir) of
        {ok, Files} ->
            lists:foreach(fun(File) -> stick(list_to_atom(filename:rootname(File)), On, S) end,
                          [F || F <- Files, filename:extension(F) =:= ".beam"]),
            {reply, ok, S};
        _ -> {reply, error, S}
    end;
handle({stick_mod, M, On}, _, S) -> {reply, stick(M, On, S), S};
handle({is_sticky, M}, _, S) -> {reply, is_sticky(M, S), S};
handle(_, _, S) -> {noreply, S}.

%% ---- loading --------------------------------------------------------------------------------------------

ensure_loaded(M, From, S) ->
    case minivm:ensure_loaded(M) of
        true -> {reply, {module, M}, S};
        false -> {reply, {error, nofile}, S};
        {error, Text} ->
            error_message("Loading of ~ts failed: ~ts\n", [M, Text]),
            {reply, {error, badfile}, S};
        on_load ->
            case object_code(M, minivm:code_path()) of
                error -> {reply, {error, nofile}, S};
                {M, Binary, File} -> load(M, File, Binary, From, S)
            end
    end.

load(M, File, Binary, From, S) ->
    case is_sticky(M, S) of
        true ->
            error_message("Can't load module '~w' that resides in sticky dir\n", [M]),
            {reply, {error, sticky_directory}, S};
        false ->
            case erlang:prepare_loading(M, Binary) of
                {error, _} = Error -> loaded(Error, M, File, S);
                Code ->
                    case erlang:finish_loading([Code]) of
                        ok -> loaded({module, M}, M, File, S);
                        {on_load, [M]} ->
                            run_on_load(M, From, S, fun(Result, S1) -> loaded(Result, M, File, S1) end);
                        {Why, [M]} -> loaded({error, Why}, M, File, S)
                    end
            end
    end.

loaded({module, M}, M, File, S) ->
    ets:insert(S#state.db, {M, File}),
    {reply, {module, M}, S};
loaded({error, on_load_failure} = Error, _, _, S) ->
    {reply, Error, S};
loaded({error, Why} = Error, _, File, S) ->
    error_message("Loading of ~ts failed: ~p\n", [File, Why]),
    {reply, Error, S}.

finish_loading(Prepared0, OnlyMissing, S) ->
    Prepared = [P || {M, _} = P <- Prepared0, not (OnlyMissing andalso erlang:module_loaded(M))],
    Pending = [{M, pending_on_load} || {M, _} <- Prepared, lists:keymember(M, 2, S#state.on_load)],
    Sticky = [{M, sticky_directory} || {M, _} <- Prepared, is_sticky(M, S)],
    case {Pending, Sticky} of
        {[], []} ->
            case erlang:finish_loading([Code || {_, {Code, _}} <- Prepared]) of
                ok ->
                    ets:insert(S#state.db, [{M, File} || {M, {_, File}} <- Prepared]),
                    ok;
                {Why, Ms} -> {error, [{M, Why} || M <- Ms]}
            end;
        {[], _} -> {error, Sticky};
        _ -> {error, Pending}
    end.

purge(M) ->
    {_, DidKill} = erts_code_purger:purge(M),
    DidKill.

%% Errors are reported without a call to logger, which may be what is being loaded.
error_message(Format, Args) ->
    catch logger ! {log, error, Format, Args, #{pid => self(), gl => group_leader(),
                                                time => os:system_time(microsecond),
                                                error_logger => #{tag => error}}},
    ok.

%% ---- moving to the other engine ----------------------------------------------------------------------

%% The module is loaded once more, by the other engine. Who runs in the code before goes on in it until it
%% makes a fully qualified call, as always; the code goes when nobody does any more.
move(M, Engine, Code, S) ->
    case minivm:code_info(M) of
        #{current := #{engine := Engine}} -> {module, M};
        #{current := Current} ->
            case bytes(M, Code, S) of
                {ok, Binary} ->
                    Md5 = erlang:get_module_info(M, md5),
                    File = loaded_file(M, S),
                    Moved = move_prepared(M, minivm:prepare_in_engine(M, Binary, Engine, Md5), Current),
                    case {Moved, File} of
                        {{module, M}, {file, Name}} -> ets:insert(S#state.db, {M, Name});
                        _ -> ok
                    end,
                    Moved;
                Error -> Error
            end;
        _ -> {error, not_loaded}
    end.

bytes(_, Binary, _) when is_binary(Binary) -> {ok, Binary};
bytes(M, undefined, S) ->
    case loaded_file(M, S) of
        {file, [_ | _] = File} ->
            case read_file(File) of
                {ok, Binary} -> {ok, Binary};
                {error, _} -> {error, nofile}
            end;
        _ -> {error, nofile}
    end.

move_prepared(_, {error, _} = Error, _) -> Error;
move_prepared(M, Prepared, Current) ->
    case erlang:has_prepared_code_on_load(Prepared) of
        true -> {error, on_load};  % its function would run again
        false ->
            case erts_code_purger:soft_purge(M) of
                false -> {error, not_purged};
                true ->
                    case erlang:finish_loading([Prepared]) of
                        ok ->
                            purge_moved({M, Current}, 1),
                            {module, M};
                        {Why, [M]} -> {error, Why}
                    end
            end
    end.

%% Delay in milliseconds.
purge_moved({M, Code} = Moved, Delay) ->
    case minivm:code_info(M) of
        #{old := Code} ->
            case erts_code_purger:soft_purge(M) of
                true -> ok;
                false ->
                    Next = min(2 * Delay, 1000),
                    erlang:send_after(Delay, self(), {purge_moved, Moved, Next}),
                    ok
            end;
        _ -> ok  % somebody else has purged it
    end.

%% ---- on_load --------------------------------------------------------------------------------------------

run_on_load(M, From, S, Action) ->
    PidRef = spawn_monitor(fun() ->
                                   print_as_user(),
                                   exit(erlang:call_on_load_function(M))
                           end),
    {noreply, S#state{on_load = [{PidRef, M, [{From, Action}]} | S#state.on_load]}}.

%% The group leader of this process is init: it began before there was anything to print with, and answers no request
%% to print.
print_as_user() ->
    case whereis(user) of
        undefined -> ok;
        User -> erts_internal:group_leader(User, self())
    end.

%% Action now, or when the on_load function of M has returned.
after_on_load(M, From, S, Action) ->
    case lists:keytake(M, 2, S#state.on_load) of
        false -> Action(ok, S);
        %% The function itself calls its module: that would never end.
        {value, {{From, _}, M, _}, _} -> {reply, {error, deadlock}, S};
        {value, {PidRef, M, Waiting}, Others} ->
            {noreply, S#state{on_load = [{PidRef, M, [{From, Action} | Waiting]} | Others]}}
    end.

on_load_done(PidRef, Result, S) ->
    case lists:keytake(PidRef, 1, S#state.on_load) of
        false -> S;
        {value, {PidRef, M, Waiting}, Others} ->
            Keep = Result =:= ok,
            erts_code_purger:finish_after_on_load(M, Keep),
            Keep orelse is_atom(Result) orelse report_on_load(M, Result),
            Answer = case Keep of
                         true -> {module, M};
                         false -> {error, on_load_failure}
                     end,
            %% Not before all have been dealt with does the module count as done: an action may load it
            %% again.
            lists:foldl(fun({Pid, Action}, S0) ->
                                case Action(Answer, S0) of
                                    {reply, Reply, S1} ->
                                        Pid ! {code_server, Reply},
                                        S1;
                                    {noreply, S1} -> S1
                                end
                        end, S#state{on_load = Others}, Waiting)
    end.

report_on_load(M, Result) ->
    spawn(fun() ->
                  error_logger:warning_msg("The on_load function for module ~s returned:~n~P\n",
                                           [M, Result, 10])
          end).

%% ---- where modules come from ----------------------------------------------------------------------------

loaded_file(M, S) ->
    case ets:lookup(S#state.db, M) of
        [{M, File}] -> {file, File};
        [] ->
            case minivm:loaded_from(M) of
                false -> false;
                [] -> false;  % by erlang:load_module/2: nobody told us
                File -> {file, File}
            end
    end.

%% Sticky: those named here, and all of kernel, stdlib and compiler unless they were released.
is_sticky(M, S) ->
    erlang:module_loaded(M) andalso
        case {ets:member(S#state.db, {sticky, M}), ets:member(S#state.db, {loose, M})} of
            {true, _} -> true;
            {_, true} -> false;
            _ ->
                case loaded_file(M, S) of
                    {file, preloaded} -> true;
                    {file, [_ | _] = File} ->
                        lists:member(app_name(filename:dirname(File)), ["kernel", "stdlib", "compiler"]) andalso
                            lists:prefix(code:lib_dir(), File);
                    _ -> false
                end
        end.

stick(M, true, S) ->
    ets:delete(S#state.db, {loose, M}),
    ets:insert(S#state.db, {{sticky, M}});
stick(M, false, S) ->
    ets:insert(S#state.db, {{loose, M}}),
    ets:delete(S#state.db, {sticky, M}).

object_code(M, Path) ->
    Name = atom_to_list(M),
    case Name =/= "" andalso filename:basename(Name) =:= Name of
        true -> object_code(M, Name ++ ".beam", Path);
        false -> error
    end.

object_code(M, Name, [Dir | Rest]) ->
    File = filename:append(Dir, Name),
    case read_file(File) of
        {ok, Binary} -> {M, Binary, absolute(File)};
        {error, _} -> object_code(M, Name, Rest)
    end;
object_code(_, _, []) -> error.

%% Files may be in an archive: then something in the path is a file. What made such a path (a script that
%% is one, code:add_path/1) has started OTP's loader, which knows them.
read_file(Name) ->
    case minivm:read_file(Name) of
        {error, enotdir} ->
            case erl_prim_loader:get_file(Name) of
                {ok, Binary, _} -> {ok, Binary};
                error -> {error, enoent}
            end;
        Result -> Result
    end.

list_dir(Dir) -> in_archive(prim_file:list_dir(Dir), fun() -> erl_prim_loader:list_dir(Dir) end).

read_file_info(Name) ->
    in_archive(prim_file:read_file_info(Name), fun() -> erl_prim_loader:read_file_info(Name) end).

exists(Name) -> element(1, read_file_info(Name)) =:= ok.

in_archive({error, enotdir}, InArchive) ->
    case InArchive() of
        error -> {error, enoent};
        Result -> Result
    end;
in_archive(Result, _) -> Result.

absolute(Name) ->
    case filename:pathtype(Name) of
        absolute -> filename:join([Name]);
        _ ->
            case prim_file:get_cwd() of
                {ok, Cwd} -> filename:absname_join(Cwd, Name);
                _ -> Name
            end
    end.

is_file_name(File) when is_atom(File) -> true;
is_file_name(File) -> is_list(File) andalso lists:all(fun is_integer/1, File).

%% ---- the path --------------------------------------------------------------------------------------------

set_path(Path) ->
    case lists:all(fun is_file_name/1, Path) andalso lists:all(fun is_dir/1, Path -- minivm:code_path()) of
        true -> minivm:set_code_path(Path);
        false -> {error, bad_directory}
    end.

normal_name(Dir) when is_atom(Dir) -> normal_name(atom_to_list(Dir));
normal_name(Dir) ->
    case is_file_name(Dir) of
        true -> filename:join([Dir]);
        false -> Dir
    end.

is_dir(Dir) ->
    case read_file_info(Dir) of
        {ok, Info} when element(3, Info) =:= regular -> is_archive(Dir);
        {ok, Info} -> element(3, Info) =:= directory;
        _ -> false
    end.

%% Its top is a directory, too: where Elixir's escripts have their modules.
is_archive(File) ->
    case erl_prim_loader:list_dir(File) of
        {ok, _} -> true;
        _ -> false
    end.

add_path(Where, Dir0) ->
    Dir = normal_name(Dir0),
    Path = minivm:code_path(),
    case is_file_name(Dir) andalso is_dir(Dir) of
        false -> {error, bad_directory};
        true when Where =:= first -> minivm:set_code_path([Dir | lists:delete(Dir, Path)]);
        true ->
            case lists:member(Dir, Path) of
                true -> true;
                false -> minivm:set_code_path(Path ++ [Dir])
            end
    end.

del_path(Name0) ->
    case catch filename:join([to_list(Name0)]) of
        {'EXIT', _} -> {error, bad_name};
        Name ->
            Path = minivm:code_path(),
            case del_first(Name, Path) of
                Path -> false;
                Rest -> minivm:set_code_path(Rest)
            end
    end.

del_first(Name, [Dir | Rest]) ->
    case Dir =:= Name orelse app_name(Dir) =:= Name of
        true -> Rest;
        false -> [Dir | del_first(Name, Rest)]
    end;
del_first(_, []) -> [].

replace_path(Name0, Dir0) ->
    try {to_list(Name0), filename:join([to_list(Dir0)])} of
        {Name, Dir} ->
            case app_name(Dir) =:= Name of
                false -> {error, bad_name};
                true ->
                    case is_dir(Dir) of
                        false -> {error, bad_directory};
                        true -> minivm:set_code_path(replace(Name, Dir, minivm:code_path()))
                    end
            end
    catch
        _:_ -> {error, {badarg, [Name0, Dir0]}}
    end.

replace(Name, Dir, [D | Rest]) ->
    case app_name(D) of
        Name -> [Dir | Rest];
        _ -> [D | replace(Name, Dir, Rest)]
    end;
replace(_, Dir, []) -> [Dir].

to_list(X) when is_atom(X) -> atom_to_list(X);
to_list(X) when is_list(X) -> X.

%% ".../stdlib-4.2/ebin" -> "stdlib"
app_name(Dir) ->
    hd(string:split(filename:basename(app_dir(Dir)), "-")).

app_dir(Dir) ->
    case filename:basename(Dir) of
        "ebin" -> filename:dirname(Dir);
        _ -> Dir
    end.
