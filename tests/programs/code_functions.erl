%% What applications call of `code`, with right and with wrong arguments; c:l/1 and c:nl/1.
-module(code_functions).
-export([main/1]).

main(_) ->
    logger:set_primary_config(level, none),
    Dir = filename:join("/tmp", "minivm_code_functions_" ++ os:getpid()),
    ok = file:make_dir(Dir),
    [ok = file:make_dir(filename:join(Dir, D)) || D <- ["one", "two", "app-1.0", "app-1.0/ebin", "app-1.0/priv"]],
    put(dir, Dir),
    try
        exports(),
        loading(),
        several(),
        status(),
        shell(),
        paths(),
        applications(),
        files(),
        sticky(),
        bad_arguments()
    after
        file:del_dir_r(Dir)
    end.

%% Names of the directory are replaced, for each run has another.
p(Name, Value) ->
    Text = lists:flatten(io_lib:format("~w: ~0tp~n", [Name, Value])),
    io:put_chars(lists:flatten(string:replace(Text, get(dir), "DIR", all))).
err(F) -> try F() catch C:R -> {C, R} end.
dir(Sub) -> filename:join(get(dir), Sub).

version(M, N) -> version(M, N, []).
version(M, N, More) ->
    Line = erl_anno:new(1),
    {ok, M, Bin} = compile:forms([{attribute, Line, module, M}, {attribute, Line, export, [{f, 0}]} | More] ++
                                     [{function, Line, f, 0, [{clause, Line, [], [], [{integer, Line, N}]}]}]),
    Bin.
on_load(Result) ->
    Line = erl_anno:new(1),
    [{attribute, Line, on_load, {init, 0}},
     {function, Line, init, 0, [{clause, Line, [], [], [{atom, Line, Result}]}]}].
write(Sub, M, N) -> write(Sub, M, version(M, N), b).
write(Sub, M, Bin, b) ->
    File = filename:join(dir(Sub), atom_to_list(M) ++ ".beam"),
    ok = file:write_file(File, Bin),
    File.

%% Nothing that OTP's has is missing.
exports() ->
    p(exports, [{F, A} || {F, A} <- lists:sort(code:module_info(exports)), lists:member({F, A}, wanted())] =:= wanted()).
wanted() ->
    lists:sort([{add_path, 1}, {add_patha, 1}, {add_paths, 1}, {add_pathsa, 1}, {add_pathsz, 1}, {add_pathz, 1},
     {all_available, 0}, {all_loaded, 0}, {atomic_load, 1}, {clash, 0}, {compiler_dir, 0}, {del_path, 1},
     {delete, 1}, {ensure_loaded, 1}, {ensure_modules_loaded, 1}, {finish_loading, 1}, {get_chunk, 2},
     {get_doc, 1}, {get_mode, 0}, {get_object_code, 1}, {get_path, 0}, {is_loaded, 1}, {is_module_native, 1},
     {is_sticky, 1}, {lib_dir, 0}, {lib_dir, 1}, {lib_dir, 2}, {load_abs, 1}, {load_binary, 3}, {load_file, 1},
     {modified_modules, 0}, {module_md5, 1}, {module_status, 0}, {module_status, 1}, {objfile_extension, 0},
     {prepare_loading, 1}, {priv_dir, 1}, {purge, 1}, {rehash, 0}, {replace_path, 2}, {root_dir, 0},
     {set_path, 1}, {soft_purge, 1}, {start_link, 0}, {stick_dir, 1}, {stick_mod, 1}, {unstick_dir, 1},
     {unstick_mod, 1}, {where_is_file, 1}, {where_is_file, 2}, {which, 1}]).

loading() ->
    A = code_functions_a,
    File = write("one", A, 1),
    p(load_file_unknown, code:load_file(A)),
    p(ensure_unknown, code:ensure_loaded(A)),
    p(load_abs, {code:load_abs(dir("one/code_functions_a")), A:f(), code:is_loaded(A), code:which(A)}),
    p(load_abs_missing, [code:load_abs(dir("one/nope")), code:load_abs(dir("nope/code_functions_a"))]),
    true = code:add_patha(dir("one")),
    p(load_file, {code:load_file(A), A:f(), code:which(A) =:= File}),
    write("one", A, 2),
    p(ensure_loaded, {code:ensure_loaded(A), A:f()}),
    p(load_again, {code:load_file(A), A:f(), erlang:check_old_code(A)}),
    p(deleted, {code:delete(A), code:delete(A), code:is_loaded(A), erlang:module_loaded(A)}),
    p(purged, {code:purge(A), code:purge(A), code:soft_purge(A)}),
    p(on_demand, {A:f(), code:is_loaded(A)}),
    p(load_binary, {code:load_binary(A, "any name", version(A, 3)), A:f(), code:which(A)}),
    p(load_binary_atom, {code:load_binary(A, an_atom, version(A, 4)), A:f(), code:which(A)}),
    p(load_binary_empty, {code:load_binary(A, "", version(A, 4)), A:f(), code:which(A)}),
    p(other_name, [code:load_binary(A, "x", version(code_functions_b, 1)), A:f(), erlang:module_loaded(code_functions_b)]),
    p(not_beam, [code:load_binary(A, "x", B) || B <- [<<>>, <<"FOR1">>, <<1, 2, 3>>]]),
    write("one", code_functions_wrong, version(A, 9), b),
    p(file_of_other, [code:load_file(code_functions_wrong), code:ensure_loaded(code_functions_wrong),
                      code:load_abs(dir("one/code_functions_wrong")), A:f()]),
    write("one", code_functions_damaged, <<"FOR1\0\0\0\4BEAM">>, b),
    p(damaged, [code:load_file(code_functions_damaged), code:ensure_loaded(code_functions_damaged),
                err(fun() -> code_functions_damaged:f() end)]),
    p(object_code, case code:get_object_code(A) of
                       {A, Bin, Name} -> {Name, is_binary(Bin), code:module_md5(Bin) =:= A:module_info(md5)}
                   end),
    p(object_code_missing, code:get_object_code(code_functions_nope)),
    p(md5, [code:module_md5(B) || B <- [<<>>, <<"x">>]] ++ [code:module_md5(version(A, 2)) =:= erlang:get_module_info(A, md5)]),
    p(chunks, [begin {ok, {_, [{C, X}]}} = beam_lib:chunks(version(A, 2), [C]), code:get_chunk(version(A, 2), C) =:= X end
               || C <- ["Code", "ExpT"]] ++ [code:get_chunk(version(A, 2), "Nope"), code:get_chunk(<<>>, "Code")]).

several() ->
    Ms = [B, C, D] = [code_functions_b, code_functions_c, code_functions_d],
    [write("one", M, 1) || M <- Ms],
    p(ensure_modules, {code:ensure_modules_loaded([B, C]), code:ensure_modules_loaded([B, C]), [erlang:module_loaded(M) || M <- Ms]}),
    {error, Some} = code:ensure_modules_loaded([B, code_functions_nope, D, code_functions_damaged, code_functions_wrong]),
    p(ensure_some, lists:sort(Some)),
    p(d_is_there, D:f()),
    p(ensure_none, code:ensure_modules_loaded([])),
    p(atomic, {code:atomic_load([{M, "s", version(M, 5)} || M <- Ms]), [M:f() || M <- Ms]}),
    %% OTP's order is that in which the modules were ready.
    {error, NotPurged} = code:atomic_load(Ms),
    p(atomic_old, {lists:sort(NotPurged), [M:f() || M <- Ms], [code:purge(M) || M <- Ms]}),
    p(atomic_files, {code:atomic_load(Ms), [M:f() || M <- Ms]}),
    [code:purge(M) || M <- Ms],
    p(atomic_twice, code:atomic_load([B, C, {B, "s", version(B, 3)}])),
    p(atomic_errors, [code:atomic_load(L) || L <- [[code_functions_nope], [B, code_functions_nope], [{B, "s", <<>>}],
                                                   [{B, "s", version(C, 1)}], []]]),
    p(atomic_on_load, code:atomic_load([B, {code_functions_e, "s", version(code_functions_e, 1, on_load(ok))}])),
    p(none_of_them, [M:f() || M <- Ms]),
    {ok, Prepared} = code:prepare_loading([{M, "s", version(M, 6)} || M <- Ms]),
    p(prepared, [M:f() || M <- Ms]),
    p(finish, {code:finish_loading(Prepared), [M:f() || M <- Ms]}),
    p(prepare_errors, [code:prepare_loading(L) || L <- [[code_functions_nope], [B, B], [{B, "s", <<>>}],
                                                        [{code_functions_e, "s", version(code_functions_e, 1, on_load(ok))}]]]),
    p(on_load, [code:load_binary(code_functions_e, "s", version(code_functions_e, 1, on_load(R))) || R <- [no, ok]]),
    write("one", code_functions_f, version(code_functions_f, 1, on_load(no)), b),
    p(ensure_on_load, [code:ensure_modules_loaded([code_functions_f]), code:ensure_loaded(code_functions_f), code:load_file(code_functions_f)]).

status() ->
    M = code_functions_g,
    p(not_loaded, code:module_status(M)),
    File = write("one", M, 1),
    p(still_not, code:module_status(M)),
    code:load_file(M),
    p(loaded, code:module_status(M)),
    write("one", M, 2),
    p(modified, {code:module_status(M), lists:member(M, code:modified_modules())}),
    p(modified_list, code:module_status([M, erlang, code_functions_nope])),
    file:delete(File),
    p(removed, {code:module_status(M), lists:member(M, code:modified_modules())}),
    code:load_binary(M, "", version(M, 1)),
    p(no_file, code:module_status(M)),
    p(all, {lists:member({code_functions_b, "s"}, code:all_loaded()), lists:keymember(lists, 1, code:all_loaded()),
            lists:all(fun({X, Y}) -> is_atom(X) andalso (is_list(Y) orelse is_atom(Y)) end, code:all_loaded()),
            is_list(code:module_status())}),
    p(available, [lists:keyfind(atom_to_list(X), 1, code:all_available()) || X <- [code_functions_b, code_functions_wrong, code_functions_nope]]).

shell() ->
    M = code_functions_h,
    write("one", M, 1),
    p(l, {c:l(M), M:f()}),
    write("one", M, 2),
    p(l_again, {c:l(M), M:f(), erlang:check_old_code(M)}),
    write("one", M, 3),
    p(l_third, {c:l(M), M:f(), erlang:check_old_code(M)}),
    p(nl, {c:nl(M), M:f()}),
    p(l_missing, c:l(code_functions_nope)),
    p(mm, lists:member(M, c:mm())),
    write("one", M, 4),
    p(lm, {lists:member(M, c:mm()), lists:member({module, M}, c:lm()), M:f(), lists:member(M, c:mm())}).

paths() ->
    Before = code:get_path(),
    [One, Two] = [dir("one"), dir("two")],
    Mine = fun() -> [D || D <- code:get_path(), lists:prefix(get(dir), D)] end,
    p(mine, Mine()),
    p(add, [code:add_path(Two), Mine(), code:add_patha(Two), Mine(), code:add_pathz(One), Mine()]),
    p(add_missing, [code:F(dir("nope")) || F <- [add_path, add_patha, add_pathz]]),
    p(add_list, [code:F([Two, dir("nope"), One]) || F <- [add_paths, add_pathsa, add_pathsz]] ++ [Mine()]),
    p(del, [code:del_path(Two), Mine(), code:del_path(Two), code:del_path(one), Mine(), code:del_path(dir("nope"))]),
    p(set, [code:set_path([One | Before]), hd(code:get_path()) =:= One, code:set_path([dir("nope")]), hd(code:get_path()) =:= One,
            code:set_path([]), code:get_path(), code:set_path([One | Before])]),
    p(replace, [code:replace_path(one, Two), code:replace_path(nope, dir("nope")), Mine()]),
    p(slash, [code:add_patha(One ++ "/"), Mine(), code:del_path(One ++ "/"), Mine()]),
    p(restore, [code:set_path(Before), code:get_path() =:= Before]),
    p(rehash, code:rehash()).

applications() ->
    Ebin = dir("app-1.0/ebin"),
    true = code:add_pathz(Ebin),
    p(lib_dir, [code:lib_dir(app), code:lib_dir("app"), code:lib_dir(app, priv), code:lib_dir(app, ebin),
                code:lib_dir(app, nope), code:priv_dir(app), code:priv_dir("app")]),
    p(lib_dir_missing, [code:lib_dir(code_functions_nope), code:priv_dir(code_functions_nope), code:lib_dir(code_functions_nope, ebin)]),
    p(lib_dirs, [filename:basename(code:lib_dir(kernel, src)), code:lib_dir() =:= filename:join(code:root_dir(), "lib"),
                 is_list(code:compiler_dir())]),
    p(replace, [code:replace_path(app, dir("one")), code:lib_dir(app)]),
    p(del, [code:del_path(app), code:lib_dir(app)]),
    p(extension, {code:objfile_extension(), code:get_mode()}).

files() ->
    M = code_functions_i,
    write("one", M, 1), write("two", M, 2),
    true = code:add_patha(dir("two")),
    true = code:add_patha(dir("one")),
    p(where, [code:where_is_file("code_functions_i.beam"), code:where_is_file("nope.beam"),
              code:where_is_file([dir("two"), dir("one")], "code_functions_i.beam"), code:where_is_file([], "x"),
              code:where_is_file([dir("nope")], "x")]),
    p(which, [code:which(M), code:which(code_functions_nope), code:which(erlang), code:which(?MODULE) =/= non_existing]),
    p(first, {M:f(), code:del_path(dir("one")), code:which(M), code:load_file(M), M:f(), code:which(M)}),
    p(preloaded, [code:is_loaded(X) || X <- [erlang, init, code_functions_nope]]),
    p(native, [code:is_module_native(X) || X <- [lists, code_functions_nope]]).

sticky() ->
    M = code_functions_j,
    write("two", M, 1),
    p(not_sticky, [code:is_sticky(M), code:stick_mod(M), code:is_sticky(M)]),
    code:load_file(M),
    p(stick, [code:stick_mod(M), code:is_sticky(M), code:load_file(M), code:load_binary(M, "x", version(M, 2)),
              code:delete(M), code:atomic_load([M]), M:f()]),
    p(unstick, [code:unstick_mod(M), code:is_sticky(M), code:load_file(M), M:f()]),
    p(dir, [code:stick_dir(dir("two")), code:load_file(M), code:is_sticky(M), code:load_file(M), code:unstick_dir(dir("two")),
            code:is_sticky(M), code:load_file(M)]),
    p(stick_missing, [code:stick_dir(dir("nope")), code:unstick_dir(dir("nope"))]).

bad_arguments() ->
    Calls = [{load_file, ["x"]}, {load_abs, [1]}, {load_binary, [x, 1, <<>>]}, {load_binary, [x, "x", y]},
             {ensure_loaded, [1]}, {ensure_modules_loaded, [x]}, {ensure_modules_loaded, [[1]]}, {atomic_load, [x]},
             {atomic_load, [[1]]}, {atomic_load, [[{a, b, c}]]}, {prepare_loading, [x]}, {finish_loading, [x]},
             {delete, [1]}, {purge, ["x"]}, {soft_purge, [1]}, {is_loaded, [1]}, {which, ["x"]},
             {get_object_code, [1]}, {where_is_file, [x]}, {module_md5, [x]}, {set_path, [x]}, {set_path, [[1]]},
             {add_path, [x]}, {add_patha, [1]}, {add_pathz, [x]}, {add_paths, [x]}, {add_paths, [[1]]}, {add_path, [[1]]},
             {add_path, [""]}, {del_path, [1]}, {del_path, [nope]}, {replace_path, [1, "x"]}, {replace_path, [kernel, "/nope"]},
             {lib_dir, [1]}, {lib_dir, [kernel, "x"]}, {priv_dir, [1]}, {stick_dir, [1]}, {stick_mod, [1]},
             {is_sticky, [1]}, {is_module_native, [1]}, {module_status, [1]}],
    [p({F, A}, case err(fun() -> apply(code, F, A) end) of
                   {error, {function_clause, _}} -> function_clause;
                   {error, R} when not is_atom(R) -> {error, element(1, R)};
                   O -> O
               end) || {F, A} <- Calls].
