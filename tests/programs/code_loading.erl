%% code: the path, loading from binaries, old code, deletion and purging; old funs go on working.
-module(code_loading).
-export([main/1]).

main(_) ->
    path(),
    versions().

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).

path() ->
    Dir = "/tmp/minivm_code_loading_" ++ os:getpid(),
    ok = file:make_dir(Dir),
    Beam = filename:join(Dir, "code_loading_x.beam"),
    ok = file:write_file(Beam, version(code_loading_x, 1)),
    p(not_there, code:ensure_loaded(code_loading_x)),
    p(add, [code:add_patha(Dir), hd(code:get_path()) =:= Dir, code:add_patha("/nonexistent"),
            code:add_pathz("/nonexistent"), code:set_path(["/nonexistent" | code:get_path()])]),
    p(ensure, code:ensure_loaded(code_loading_x)),
    p(call, code_loading_x:f()),
    p(which, {code:which(code_loading_x) =:= Beam, code:is_loaded(code_loading_x) =:= {file, Beam},
              code:which(code_loading_nope), code:is_loaded(code_loading_nope)}),
    p(where, code:where_is_file("code_loading_x.beam") =:= Beam),
    p(object, case code:get_object_code(code_loading_x) of
                  {code_loading_x, Bin, Beam} -> is_binary(Bin)
              end),
    p(del, [code:del_path(Dir), code:del_path(Dir), lists:member(Dir, code:get_path())]),
    p(load_abs, code:load_abs(filename:join(Dir, "code_loading_x"))),
    p(old, {erlang:check_old_code(code_loading_x), code:purge(code_loading_x)}),
    p(dirs, [filename:basename(filename:dirname(code:priv_dir(stdlib))) =:=
                 filename:basename(code:lib_dir(stdlib)),
             filename:basename(code:lib_dir(kernel, ebin)), code:lib_dir(nope),
             filename:dirname(code:lib_dir(stdlib)) =:= code:lib_dir()]),
    ok = file:del_dir_r(Dir).

version(Module, N) ->
    Line = erl_anno:new(1),
    {ok, Module, Bin} =
        compile:forms([{attribute, Line, module, Module},
                       {attribute, Line, export, [{f, 0}, {g, 0}, {h, 0}] -- [{h, 0} || N =:= 2]},
                       function(f, {integer, Line, N}),
                       function(g, {'fun', Line, {clauses, [{clause, Line, [], [], [{integer, Line, N}]}]}}),
                       function(h, {atom, Line, h})],
                      [nowarn_unused_function]),
    Bin.

function(Name, Body) ->
    Line = erl_anno:new(1),
    {function, Line, Name, 0, [{clause, Line, [], [], [Body]}]}.

versions() ->
    M = code_loading_y,
    [B1, B2, B3] = [version(M, N) || N <- [1, 2, 3]],
    p(load, code:load_binary(M, "y", B1)),
    F1 = M:g(),
    External = fun M:f/0,
    p(v1, {M:f(), F1(), External(), M:h(), erlang:check_old_code(M)}),
    p(load, code:load_binary(M, "y", B2)),
    p(v2, {M:f(), F1(), External(), (M:g())(), erlang:check_old_code(M),
           erlang:function_exported(M, h, 0)}),
    p(undef, try M:h() catch error:undef -> undef end),
    p(no_delete, try erlang:delete_module(M) catch error:badarg -> badarg end),
    F2 = M:g(),
    p(forget, erase_fun(F1)),
    p(soft, code:soft_purge(M)),
    p(no_old, {erlang:check_old_code(M), try erlang:purge_module(M) catch error:badarg -> badarg end}),
    p(load, code:load_binary(M, "y", B3)),
    p(v3, {M:f(), F2(), External(), M:h()}),
    p(purge, code:soft_purge(code_loading_nope)),
    p(md5, erlang:md5(B3) =:= erlang:md5(B2)),
    p(deleted, {erlang:check_old_code(M), module_of(F2)}),
    erase_fun(F2),
    p(soft2, is_boolean(code:soft_purge(M))),
    erlang:check_old_code(M) andalso erlang:purge_module(M),
    p(delete, {code:delete(M), code:delete(M), try M:f() catch error:undef -> undef end,
               erlang:delete_module(code_loading_nope), code:delete(code_loading_nope),
               erlang:module_loaded(M)}),
    p(purged, {code:soft_purge(M), code:load_binary(M, "y", B1), M:f(), External()}),
    p(bad, [try apply(erlang, F, [1]) catch error:R -> R end
            || F <- [check_old_code, delete_module, purge_module]]).

module_of(F) -> element(2, erlang:fun_info(F, module)).
erase_fun(F) -> is_function(F).
