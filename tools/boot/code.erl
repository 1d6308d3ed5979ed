%% The module `code` of a bare boot. The VM finds and loads modules by itself when they are called; the
%% process code_server (code_server.erl here) does what programs ask for, one request after another.
-module(code).
-export([ensure_loaded/1, ensure_modules_loaded/1, load_file/1, load_abs/1, load_abs/2, load_binary/3,
         atomic_load/1, prepare_loading/1, finish_loading/1, delete/1, purge/1, soft_purge/1,
         is_loaded/1, all_loaded/0, all_available/0, which/1, where_is_file/1, where_is_file/2,
         get_object_code/1, get_chunk/2, module_md5/1, get_doc/1, get_doc/2, root_dir/0, lib_dir/0, lib_dir/1,
         lib_dir/2, priv_dir/1, compiler_dir/0, get_path/0, set_path/1, add_path/1, add_patha/1,
         add_pathz/1, add_paths/1, add_pathsa/1, add_pathsz/1, del_path/1, replace_path/2, rehash/0,
         stick_dir/1, unstick_dir/1, stick_mod/1, unstick_mod/1, is_sticky/1, get_mode/0,
         is_module_native/1, objfile_extension/0, module_status/0, module_status/1,
         modified_modules/0, clash/0, start_link/0, set_primary_archive/4]).
%% From OTP 26 on.
-export([set_path/2, add_path/2, add_patha/2, add_pathz/2, add_paths/2, add_pathsa/2, add_pathsz/2,
         del_paths/1, replace_path/3, clear_cache/0]).
%% From OTP 27 and 28 on.
-export([coverage_support/0, get_coverage/2, get_coverage_mode/0, get_coverage_mode/1,
         reset_coverage/1, set_coverage_mode/1, get_debug_info/1]).

-define(PREPARED, '$prepared$').

call(Request) -> code_server:call(Request).

%% For OTP's kernel supervisor: the process is there already.
start_link() -> minivm_kernel:stand_in().

%% ---- loading one module ----------------------------------------------------------------------------

ensure_loaded(M) when is_atom(M) ->
    case erlang:module_loaded(M) of
        true -> {module, M};
        false -> call({ensure_loaded, M})
    end.

load_file(M) when is_atom(M) -> call({load_file, M}).

load_abs(File) when is_list(File); is_atom(File) ->
    load_abs(File, list_to_atom(filename:basename(File))).

load_abs(File, M) when (is_list(File) orelse is_atom(File)), is_atom(M) -> call({load_abs, File, M}).

load_binary(M, File, Binary) when is_atom(M), (is_list(File) orelse is_atom(File)), is_binary(Binary) ->
    call({load_binary, M, File, Binary}).

%% ---- several, in one commit ------------------------------------------------------------------------

ensure_modules_loaded(Modules) when is_list(Modules) ->
    lists:all(fun is_atom/1, Modules) orelse error(function_clause, [Modules]),
    Missing = lists:usort([M || M <- Modules, not erlang:module_loaded(M)]),
    {Prepared, Errors0} = prepare(Missing),
    {OnLoad, Plain} = lists:partition(fun wants_on_load/1, Prepared),
    Errors1 = case call({finish_loading, Plain, true}) of
                  ok -> Errors0;
                  {error, E} -> E ++ Errors0
              end,
    case [{M, Why} || {M, _} <- OnLoad, {error, Why} <- [ensure_loaded(M)]] ++ Errors1 of
        [] -> ok;
        Errors -> {error, Errors}
    end.

atomic_load(Modules) ->
    case check_and_prepare(Modules) of
        {ok, Prepared} -> call({finish_loading, Prepared, false});
        {error, _} = Error -> Error;
        badarg -> error(function_clause, [Modules])
    end.

prepare_loading(Modules) ->
    case check_and_prepare(Modules) of
        {ok, Prepared} -> {ok, {?PREPARED, Prepared}};
        {error, _} = Error -> Error;
        badarg -> error(function_clause, [Modules])
    end.

finish_loading({?PREPARED, Prepared} = Arg) when is_list(Prepared) ->
    case catch lists:all(fun({M, {_, File}} = P) when is_atom(M), is_list(File) -> not wants_on_load(P) end,
                         Prepared) of
        true -> call({finish_loading, Prepared, false});
        _ -> error(function_clause, [Arg])
    end.

%% What can be found out without loading anything is found out here.
check_and_prepare(Modules) ->
    case is_list(Modules) andalso lists:all(fun is_item/1, Modules) of
        false -> badarg;
        true ->
            Names = lists:sort([case I of {M, _, _} -> M; M -> M end || I <- Modules]),
            case duplicates(Names, []) of
                [] -> only_plain(prepare([I || {_, _, _} = I <- Modules] ++ [M || M <- Modules, is_atom(M)]));
                Twice -> {error, [{M, duplicated} || M <- Twice]}
            end
    end.

is_item({M, File, Binary}) -> is_atom(M) andalso is_list(File) andalso is_binary(Binary);
is_item(M) -> is_atom(M).

duplicates([M | [M | _] = Rest], Acc) -> duplicates(Rest, [M | Acc]);
duplicates([_ | Rest], Acc) -> duplicates(Rest, Acc);
duplicates([], Acc) -> Acc.

only_plain({Prepared, []}) ->
    case [{M, on_load_not_allowed} || {M, _} = P <- Prepared, wants_on_load(P)] of
        [] -> {ok, Prepared};
        Errors -> {error, Errors}
    end;
only_plain({_, Errors}) ->
    {error, Errors}.

wants_on_load({_, {Code, _}}) -> erlang:has_prepared_code_on_load(Code).

%% -> {[{Module, {PreparedCode, File}}], [{Module, Reason}]}; each in a process of its own.
prepare([]) -> {[], []};
prepare(Items) ->
    Path = get_path(),
    Jobs = [begin
                {_, Ref} = spawn_monitor(fun() -> exit({prepared, prepare_item(Item, Path)}) end),
                {Ref, Item}
            end || Item <- Items],
    Results = [receive
                   {'DOWN', Ref, process, _, {prepared, Result}} -> Result;
                   {'DOWN', Ref, process, _, Why} -> {error, item_name(Item), Why}
               end || {Ref, Item} <- Jobs],
    {[{M, {Code, File}} || {ok, M, Code, File} <- Results], [{M, Why} || {error, M, Why} <- Results]}.

item_name({M, _, _}) -> M;
item_name(M) -> M.

prepare_item({M, File, Binary}, _) ->
    case erlang:prepare_loading(M, Binary) of
        {error, Why} -> {error, M, Why};
        Code -> {ok, M, Code, File}
    end;
prepare_item(M, Path) ->
    case code_server:object_code(M, Path) of
        error -> {error, M, nofile};
        {M, Binary, File} -> prepare_item({M, File, Binary}, Path)
    end.

%% ---- old code ---------------------------------------------------------------------------------------

delete(M) when is_atom(M) -> call({delete, M}).
purge(M) when is_atom(M) -> call({purge, M}).
soft_purge(M) when is_atom(M) -> call({soft_purge, M}).

%% ---- what there is ----------------------------------------------------------------------------------

is_loaded(M) when is_atom(M) -> call({is_loaded, M}).
all_loaded() -> call(all_loaded).

all_available() ->
    Loaded = [{atom_to_list(M), File, true} || {M, File} <- all_loaded()],
    Found = lists:foldl(
              fun(Dir, Acc) ->
                      lists:foldl(fun(File, A) when is_map_key(File, A) -> A;
                                     (File, A) -> A#{File => Dir}
                                  end, Acc, beam_files(Dir))
              end, #{}, get_path()),
    Available = [{filename:rootname(File), filename:append(Dir, File), false} || {File, Dir} <- maps:to_list(Found)],
    Order = fun({A, _, _}, {B, _, _}) -> A =< B end,
    lists:umerge(Order, lists:usort(Order, Loaded), lists:usort(Order, Available)).

beam_files(Dir) ->
    case code_server:list_dir(Dir) of
        {ok, Files} -> [F || F <- Files, filename:extension(F) =:= ".beam"];
        _ -> []
    end.

which(M) when is_atom(M) ->
    case is_loaded(M) of
        false -> which(M, get_path());
        {file, File} -> File
    end.

which(M, Path) -> where_is_file(Path, atom_to_list(M) ++ objfile_extension()).

where_is_file(File) when is_list(File) -> where_is_file(get_path(), File).

%% A directory may come with its files.
where_is_file([], _) -> non_existing;
where_is_file([{Dir, Files} | Rest], File) ->
    case lists:member(File, Files) of
        true -> filename:append(Dir, File);
        false -> where_is_file(Rest, File)
    end;
where_is_file([Dir | Rest], File) ->
    Name = filename:append(Dir, File),
    case code_server:exists(Name) of
        true -> Name;
        false -> where_is_file(Rest, File)
    end.

get_object_code(M) when is_atom(M) -> code_server:object_code(M, get_path()).

get_chunk(<<"FOR1", _/bits>> = Beam, Chunk) -> get_chunk_1(Beam, Chunk);
get_chunk(Beam, Chunk) -> get_chunk_1(uncompressed(Beam), Chunk).

get_chunk_1(Beam, Chunk) ->
    try erts_internal:beamfile_chunk(Beam, Chunk)
    catch error:Reason -> error(Reason, [Beam, Chunk])
    end.

uncompressed(Bytes) ->
    try zlib:gunzip(Bytes)
    catch _:_ -> Bytes
    end.

module_md5(Binary) when is_binary(Binary) ->
    case beam_lib:md5(Binary) of
        {ok, {_, MD5}} -> MD5;
        _ -> undefined
    end;
module_md5(Other) -> error(badarg, [Other]).

%% Documentation that a module holds, or that lies in doc/chunks above it.
get_doc(M) when is_atom(M) -> get_doc(M, #{sources => [eep48]}).
get_doc(M, #{sources := Sources}) ->
    case which(M) of
        _ when Sources =:= [] -> {error, missing};
        preloaded -> doc_of(M, filename:join([lib_dir(erts), "ebin", atom_to_list(M) ++ ".beam"]));
        Reason when is_atom(Reason) -> {error, Reason};
        File -> doc_of(M, File)
    end.

doc_of(M, File) ->
    case beam_lib:chunks(File, ["Docs"]) of
        {ok, {M, [{"Docs", Docs}]}} -> {ok, binary_to_term(Docs)};
        {error, beam_lib, _} -> doc_above(filename:dirname(File), atom_to_list(M) ++ ".chunk")
    end.

doc_above(Dir, Name) ->
    case {file:read_file(filename:join([Dir, "doc", "chunks", Name])), filename:dirname(Dir)} of
        {{ok, Docs}, _} -> {ok, binary_to_term(Docs)};
        {{error, enoent}, Dir} -> {error, missing};
        {{error, enoent}, Above} -> doc_above(Above, Name);
        {{error, _} = Error, _} -> Error
    end.

%% Lines and calls are not counted, as on an emulator of OTP that has no JIT.
coverage_support() -> false.
get_coverage_mode() -> none.
get_coverage_mode(M) -> error(badarg, [M]).
set_coverage_mode(Mode) -> error(badarg, [Mode]).
get_coverage(Level, M) -> error(badarg, [Level, M]).
reset_coverage(M) -> error(badarg, [M]).
get_debug_info(M) ->
    is_atom(M) andalso erlang:module_loaded(M) orelse error(badarg, [M]),
    none.

get_mode() -> interactive.
objfile_extension() -> ".beam".

is_module_native(M) when is_atom(M) ->
    case erlang:module_loaded(M) of
        true -> false;
        false -> undefined
    end;
is_module_native(Other) -> error(badarg, [Other]).

module_status() -> module_status([M || {M, _} <- all_loaded()]).

module_status(Modules) when is_list(Modules) ->
    Path = [{Dir, beam_files(Dir)} || Dir <- get_path()],
    [{M, module_status(M, Path)} || M <- Modules];
module_status(M) -> module_status(M, get_path()).

module_status(M, Path) ->
    case {is_loaded(M), which(M, Path)} of
        {false, _} -> not_loaded;
        {{file, preloaded}, _} -> loaded;
        {{file, []}, _} -> loaded;
        {{file, _}, non_existing} -> removed;
        {{file, cover_compiled}, _} -> modified;
        {{file, _}, File} ->
            Loaded = erlang:get_module_info(M, md5),
            case beam_lib:md5(File) of
                {ok, {_, Loaded}} -> loaded;
                _ -> modified
            end
    end.

modified_modules() -> [M || {M, modified} <- module_status()].

%% Prints which files of the code path hide which others.
clash() ->
    All = lists:append([[{Dir, File} || File <- listed(Dir)] || Dir <- get_path()]),
    io:format("** Found ~w name clashes in code paths ~n", [hidden(All)]).

listed(Dir) ->
    case code_server:list_dir(Dir) of
        {ok, Files} -> [F || F <- Files, filename:extension(F) =:= ".beam"];
        _ ->
            io:format("** Bad path can't read ~ts~n", [Dir]),
            []
    end.

hidden([{Dir, File} | Rest]) ->
    case lists:keyfind(File, 2, Rest) of
        false -> hidden(Rest);
        {Other, File} ->
            io:format("** ~ts hides ~ts~n", [filename:join(Dir, File), filename:join(Other, File)]),
            1 + hidden(Rest)
    end;
hidden([]) -> 0.

%% ---- directories ------------------------------------------------------------------------------------

root_dir() -> minivm:otp_root().
lib_dir() -> filename:join(root_dir(), "lib").
compiler_dir() ->
    case lib_dir(compiler) of
        {error, _} -> "";
        Dir -> Dir
    end.
lib_dir(App) when is_atom(App) -> lib_dir(atom_to_list(App));
lib_dir(App) when is_list(App) ->
    case [code_server:app_dir(Dir) || Dir <- get_path(), code_server:app_name(Dir) =:= App] of
        [Dir | _] -> beside_archive(Dir);
        [] -> {error, bad_name}
    end.

%% "/lib/foo-1.0.ez/foo-1.0" -> "/lib/foo-1.0", where parts of the application that are not in the
%% archive would be.
beside_archive(Dir) ->
    Name = filename:basename(Dir),
    Archive = filename:dirname(Dir),
    case filename:basename(Archive) =:= Name ++ ".ez" of
        true -> filename:join(filename:dirname(Archive), Name);
        false -> Dir
    end.

lib_dir(App, Sub) when is_atom(App), is_atom(Sub) -> sub_dir(App, Sub).
priv_dir(App) when is_atom(App); is_list(App) -> sub_dir(App, priv).

sub_dir(App, Sub) ->
    case lib_dir(App) of
        {error, _} = Error -> Error;
        Dir ->
            Plain = filename:join(Dir, atom_to_list(Sub)),
            InArchive = filename:join([Dir ++ ".ez", filename:basename(Dir), atom_to_list(Sub)]),
            case not code_server:exists(Plain) andalso code_server:exists(InArchive) of
                true -> InArchive;
                false -> Plain
            end
    end.

get_path() -> minivm:code_path().
set_path(Path) when is_list(Path) -> change_path({set_path, Path}, Path).
add_path(Dir) when is_list(Dir) -> change_path({add_path, last, Dir}, [Dir]).
add_pathz(Dir) when is_list(Dir) -> change_path({add_path, last, Dir}, [Dir]).
add_patha(Dir) when is_list(Dir) -> change_path({add_path, first, Dir}, [Dir]).
add_paths(Dirs) when is_list(Dirs) -> change_path({add_paths, last, Dirs}, Dirs).
add_pathsz(Dirs) when is_list(Dirs) -> change_path({add_paths, last, Dirs}, Dirs).
add_pathsa(Dirs) when is_list(Dirs) -> change_path({add_paths, first, Dirs}, Dirs).
del_path(Name) when is_list(Name); is_atom(Name) -> call({del_path, Name}).
replace_path(Name, Dir) when (is_atom(Name) orelse is_list(Name)), (is_atom(Dir) orelse is_list(Dir)) ->
    change_path({replace_path, Name, Dir}, [Dir]).
rehash() -> ok.

%% Directories are looked at each time: there is no cache to fill or to clear.
-define(is_cache(Cache), (Cache =:= cache orelse Cache =:= nocache)).
set_path(Path, Cache) when ?is_cache(Cache) -> set_path(Path).
add_path(Dir, Cache) when ?is_cache(Cache) -> add_path(Dir).
add_pathz(Dir, Cache) when ?is_cache(Cache) -> add_pathz(Dir).
add_patha(Dir, Cache) when ?is_cache(Cache) -> add_patha(Dir).
add_paths(Dirs, Cache) when ?is_cache(Cache) -> add_paths(Dirs).
add_pathsz(Dirs, Cache) when ?is_cache(Cache) -> add_pathsz(Dirs).
add_pathsa(Dirs, Cache) when ?is_cache(Cache) -> add_pathsa(Dirs).
replace_path(Name, Dir, Cache) when ?is_cache(Cache) -> replace_path(Name, Dir).
clear_cache() -> ok.
del_paths(Names) when is_list(Names) ->
    lists:foreach(fun(Name) -> call({del_path, Name}) end, Names).

%% What reads archives runs from here on. The server could not start it: the kernel that starts with it
%% asks the server for modules.
change_path(Request, Dirs) ->
    _ = lists:any(fun may_be_in_archive/1, Dirs) andalso whereis(erl_prim_loader),
    call(Request).

may_be_in_archive(Dir) ->
    try prim_file:read_file_info(Dir) of
        {ok, Info} -> element(3, Info) =:= regular;
        Result -> Result =:= {error, enotdir}
    catch _:_ -> false
    end.

%% For escript: the script is an archive, and modules are found in its ebin directories first.
set_primary_archive(File, Bytes, Info, Parser) when is_list(File), is_binary(Bytes) ->
    Name = filename:absname(File),
    case erl_prim_loader:set_primary_archive(Name, Bytes, Info, Parser) of
        {ok, Ebins} -> add_pathsa([filename:join(Name, Ebin) || Ebin <- Ebins]);
        {error, _} = Error -> Error
    end.

stick_dir(Dir) when is_list(Dir) -> call({stick_dir, Dir, true}).
unstick_dir(Dir) when is_list(Dir) -> call({stick_dir, Dir, false}).
stick_mod(M) when is_atom(M) -> call({stick_mod, M, true}).
unstick_mod(M) when is_atom(M) -> call({stick_mod, M, false}).
is_sticky(M) when is_atom(M) -> call({is_sticky, M}).
