%% Documentation chunks: in the module, in doc/chunks above it, or nowhere.
-module(code_doc).
-export([main/1]).

main(_) ->
    Dir = filename:join("/tmp", "code_doc_" ++ os:getpid()),
    Ebin = filename:join(Dir, "ebin"),
    Chunks = filename:join([Dir, "doc", "chunks"]),
    ok = filelib:ensure_dir(filename:join(Ebin, "x")),
    ok = filelib:ensure_dir(filename:join(Chunks, "x")),
    Doc = {docs_v1, erl_anno:new(1), erlang, <<"text/markdown">>, #{<<"en">> => <<"What it is">>}, #{}, []},
    {ok, M, Code} = compile:forms([{attribute, 1, module, code_doc_other}], [{extra_chunks, [{<<"Docs">>, term_to_binary(Doc)}]}]),
    {ok, M, Plain} = compile:forms([{attribute, 1, module, code_doc_other}], []),
    true = code:add_patha(Ebin),
    File = filename:join(Ebin, "code_doc_other.beam"),
    try
        io:format("~p~n", [code:get_doc(M)]),
        ok = file:write_file(File, Code),
        io:format("~p~n", [code:get_doc(M)]),
        ok = file:write_file(File, Plain),
        ok = file:write_file(filename:join(Chunks, "code_doc_other.chunk"), term_to_binary(setelement(3, Doc, chunk))),
        io:format("~p~n", [code:get_doc(M)]),
        io:format("~p~n", [try code:get_doc("code_doc_other") catch C:R -> {C, R} end])
    after
        file:del_dir_r(Dir)
    end.
