%% The module `code` of a bare boot: no code server process, the VM finds and loads modules itself.
%% The functions are OTP's as far as they make sense without one.
-module(code).
-export([ensure_loaded/1, ensure_modules_loaded/1, load_file/1, load_abs/1, load_abs/2, start_link/0, load_binary/3,
         is_loaded/1, all_loaded/0, loaded/0, which/1, where_is_file/1, get_object_code/1,
         root_dir/0, lib_dir/0, lib_dir/1, lib_dir/2, priv_dir/1, compiler_dir/0, get_path/0,
         set_path/1, add_path/1, add_patha/1, add_pathz/1, add_pathsa/1, add_pathsz/1,
         add_paths/1, del_path/1, get_mode/0, is_sticky/1, is_module_native/1, objfile_extension/0,
         purge/1, soft_purge/1, delete/1, module_md5/1, modified_modules/0, module_status/1,
         get_doc/1]).

-spec ensure_loaded(module()) -> {module, module()} | {error, term()}.
ensure_loaded(M) when is_atom(M) ->
    case erlang:module_loaded(M) of
        true -> {module, M};
        false ->
            case minivm:ensure_loaded(M) of
                true -> {module, M};
                false -> {error, nofile};
                {error, _} -> {error, badfile}
            end
    end.

ensure_modules_loaded(Modules) when is_list(Modules) ->
    case [{M, Why} || M <- Modules, {error, Why} <- [ensure_loaded(M)]] of
        [] -> ok;
        Errors -> {error, Errors}
    end.

%% For OTP's kernel supervisor.
start_link() -> minivm_kernel:stand_in(code_server).

load_file(M) when is_atom(M) ->
    case minivm:find_file(M) of
        false -> {error, nofile};
        Path -> loaded(M, minivm:load_file(Path))
    end.

load_abs(File) when is_list(File) ->
    case minivm:load_file(File ++ objfile_extension()) of
        {ok, M} -> {module, M};
        {error, _} -> {error, badfile}
    end.

%% The file need not be called as the module is.
load_abs(File, M) when is_list(File), is_atom(M) ->
    case minivm:read_file(File ++ objfile_extension()) of
        {ok, Binary} -> load_binary(M, File, Binary);
        {error, _} -> {error, nofile}
    end.

load_binary(M, _File, Binary) when is_atom(M), is_binary(Binary) ->
    loaded(M, minivm:load_binary(M, Binary)).

loaded(M, {ok, M}) -> {module, M};
loaded(_, _) -> {error, badfile}.

is_loaded(M) when is_atom(M) ->
    case erlang:module_loaded(M) of
        true -> {file, loaded_from(M)};
        false -> false
    end.

loaded_from(M) ->
    case minivm:find_file(M) of
        false -> preloaded;
        Path -> Path
    end.

all_loaded() -> [{M, loaded_from(M)} || M <- erlang:loaded()].
loaded() -> erlang:loaded().

which(M) when is_atom(M) ->
    case minivm:find_file(M) of
        false ->
            case erlang:module_loaded(M) of
                true -> preloaded;
                false -> non_existing
            end;
        Path -> Path
    end.

where_is_file(File) when is_list(File) ->
    first([filename:join(Dir, File) || Dir <- get_path()]).

first([Path | Rest]) ->
    case filelib:is_file(Path) of
        true -> Path;
        false -> first(Rest)
    end;
first([]) -> non_existing.

get_object_code(M) when is_atom(M) ->
    case minivm:find_file(M) of
        false -> error;
        Path ->
            case minivm:read_file(Path) of
                {ok, Binary} -> {M, Binary, Path};
                {error, _} -> error
            end
    end.

root_dir() -> minivm:otp_root().
lib_dir() -> filename:join(root_dir(), "lib").
compiler_dir() -> lib_dir(compiler).
lib_dir(App) when is_atom(App) -> lib_dir(atom_to_list(App));
lib_dir(App) when is_list(App) ->
    case [filename:dirname(Dir) || Dir <- get_path(), app_of(Dir) =:= App] of
        [Dir | _] -> Dir;
        [] -> {error, bad_name}
    end.
lib_dir(App, Sub) when is_atom(Sub) ->
    case lib_dir(App) of
        {error, _} = Error -> Error;
        Dir -> filename:join(Dir, atom_to_list(Sub))
    end.
priv_dir(App) -> lib_dir(App, priv).

app_of(Dir) ->
    hd(string:split(filename:basename(filename:dirname(Dir)), "-")).

get_path() -> minivm:code_path().
set_path(Path) when is_list(Path) -> minivm:set_code_path(Path).
add_path(Dir) -> add_pathz(Dir).
add_patha(Dir) -> minivm:set_code_path([Dir | lists:delete(Dir, get_path())]).
add_pathz(Dir) -> minivm:set_code_path(lists:delete(Dir, get_path()) ++ [Dir]).
add_pathsa(Dirs) -> lists:foreach(fun add_patha/1, Dirs).
add_pathsz(Dirs) -> lists:foreach(fun add_pathz/1, Dirs).
add_paths(Dirs) -> add_pathsz(Dirs).
del_path(Dir) ->
    Path = get_path(),
    lists:member(Dir, Path) andalso minivm:set_code_path(lists:delete(Dir, Path)).

get_mode() -> interactive.
is_sticky(M) when is_atom(M) -> false.
is_module_native(M) when is_atom(M) ->
    case erlang:module_loaded(M) of
        true -> false;
        false -> undefined
    end.
objfile_extension() -> ".beam".

%% Purging kills nobody: the VM keeps what processes still run.
purge(M) ->
    soft_purge(M),
    false.
soft_purge(M) ->
    erlang:check_old_code(M) =:= false orelse erlang:purge_module(M).
delete(M) ->
    erlang:check_old_code(M) =:= false andalso erlang:delete_module(M) =:= true.
module_md5(Binary) when is_binary(Binary) ->
    case beam_lib:md5(Binary) of
        {ok, {_, MD5}} -> MD5;
        _ -> undefined
    end.
modified_modules() -> [].
module_status(M) ->
    case erlang:module_loaded(M) of
        true -> loaded;
        false -> not_loaded
    end.
get_doc(_) -> {error, missing}.
