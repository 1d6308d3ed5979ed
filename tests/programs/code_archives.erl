%% Modules out of archives: .ez files in the code path, and a script that is one.
-module(code_archives).
-export([main/1]).

main(_) ->
    Dir = filename:join("/tmp", "code_archives_" ++ os:getpid()),
    ok = file:make_dir(Dir),
    try
        path(Dir),
        script(Dir)
    after
        file:del_dir_r(Dir)
    end.

path(Dir) ->
    Archive = filename:join(Dir, "boxed-1.2.ez"),
    {ok, _} = zip:create(Archive, [{"boxed-1.2/ebin/boxed.beam", beam(boxed, "here() -> in_archive.")},
                                   {"boxed-1.2/ebin/boxed_more.beam", beam(boxed_more, "here() -> boxed:here().")},
                                   {"boxed-1.2/ebin/boxed.app", app(boxed)},
                                   {"boxed-1.2/priv/text", <<"text">>}]),
    io:format("~p~n", [try boxed:here() catch error:undef -> undef end]),
    Ebin = filename:join(Archive, "boxed-1.2/ebin"),
    io:format("~p~n", [code:add_pathz(filename:join(Archive, "boxed-1.2/nothing"))]),
    io:format("~p~n", [code:add_pathz(Ebin)]),
    io:format("~p~n", [lists:last(code:get_path()) =:= Ebin]),
    io:format("~p~n", [[F:here() || F <- [boxed_more, boxed]]]),
    io:format("~ts~n", [relative(code:which(boxed), Dir)]),
    io:format("~ts~n", [relative(code:where_is_file("boxed.app"), Dir)]),
    io:format("~ts~n", [relative(code:lib_dir(boxed), Dir)]),
    {ok, Text, _} = erl_prim_loader:get_file(filename:join(code:priv_dir(boxed), "text")),
    io:format("~p~n", [Text]),
    {boxed, Bytes, _} = code:get_object_code(boxed),
    io:format("~p~n", [beam_lib:info(Bytes) =/= []]),
    io:format("~p~n", [application:load(boxed)]),
    io:format("~p~n", [application:get_env(boxed, value)]),
    io:format("~p ~p~n", [try nowhere:f() catch error:undef -> undef end, code:ensure_loaded(nowhere)]),
    io:format("~p~n", [code:del_path(Ebin)]),
    io:format("~p~n", [code:add_path(filename:join(Archive, "no"))]).

script(Dir) ->
    Script = filename:join(Dir, "script"),
    ok = escript:create(Script, [shebang, {archive, [{"inner/ebin/inner.beam", beam(inner, "here() -> in_script.")},
                                                     {"inner/ebin/inner_two.beam", beam(inner_two, "here() -> inner:here().")}], []}]),
    {ok, Sections} = escript:extract(Script, []),
    {archive, Bytes} = lists:keyfind(archive, 1, Sections),
    {ok, Info} = file:read_file_info(Script),
    io:format("~p~n", [code:set_primary_archive(Script, Bytes, Info, fun escript:parse_file/1)]),
    io:format("~ts~n", [relative(hd(code:get_path()), Dir)]),
    io:format("~p~n", [inner_two:here()]),
    io:format("~ts~n", [relative(code:which(inner), Dir)]).

relative(Name, Dir) -> string:prefix(Name, Dir).

beam(Module, Body) ->
    Forms = [begin
                 {ok, Tokens, _} = erl_scan:string(Line),
                 {ok, Form} = erl_parse:parse_form(Tokens),
                 Form
             end || Line <- ["-module(" ++ atom_to_list(Module) ++ ").", "-export([here/0]).", Body]],
    {ok, Module, Beam} = compile:forms(Forms),
    Beam.

app(Name) ->
    iolist_to_binary(io_lib:format("~p.~n", [{application, Name, [{vsn, "1.2"}, {modules, []}, {env, [{value, 17}]},
                                                                  {applications, [kernel, stdlib]}]}])).
