%% The modules file and filelib with OTP's file server: whole files, devices, terms, directories.
-module(file_module).
-export([main/1]).

main(_) ->
    {ok, Cwd} = file:get_cwd(),
    Dir = "/tmp/minivm_file_module_" ++ os:getpid(),
    ok = file:make_dir(Dir),
    ok = file:set_cwd(Dir),
    try
        whole_files(),
        devices(),
        raw(),
        terms(),
        directories(),
        copies(),
        errors()
    after
        ok = file:set_cwd(Cwd),
        ok = file:del_dir_r(Dir)
    end,
    p(gone, filelib:is_dir(Dir)).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).

whole_files() ->
    p(write, file:write_file("a", "hello\n")),
    p(append, file:write_file("a", <<"world\n">>, [append])),
    p(read, file:read_file("a")),
    p(atom_name, {file:write_file(b, ["x", [<<"y">>]]), file:read_file("b")}),
    p(exclusive, file:write_file("a", "x", [exclusive])),
    p(size, {filelib:file_size("a"), filelib:is_file("a"), filelib:is_regular("a"), filelib:is_dir("a")}).

devices() ->
    {ok, D} = file:open("d", [write, read, {encoding, utf8}]),
    p(put, [io:put_chars(D, "line one\n"), io:format(D, "~ts ~p~n", [[8364, 229], {a, "b"}]),
            io:write(D, [1, 2, 3]), io:nl(D), file:write(D, <<"raw bytes\n">>)]),
    p(position, file:position(D, bof)),
    p(get_line, io:get_line(D, '')),
    p(get_line, io:get_line(D, '')),
    p(read, io:read(D, '')),
    p(rest, io:get_chars(D, '', 100)),
    p(eof, {io:get_line(D, ''), io:get_chars(D, '', 1)}),
    p(close, {file:close(D), file:close(D)}),
    p(bytes, file:read_file("d")),
    {ok, R} = file:open("d", [read, binary]),
    p(binary, [file:read(R, 4), file:read_line(R), file:pread(R, 2, 5), file:position(R, {eof, -4}),
               file:read(R, 100), file:read(R, 1)]),
    p(write_to_reader, [file:write(R, "x"), file:close(R)]),
    {ok, A} = file:open("d", [append]),
    ok = file:write(A, "more"),
    ok = file:close(A),
    p(appended, filelib:file_size("d")),
    {ok, L} = file:open("lines", [write, delayed_write]),
    [ok = io:format(L, "~w~n", [I * I]) || I <- lists:seq(1, 300)],
    ok = file:close(L),
    {ok, I} = file:open("lines", [read, read_ahead]),
    p(sum, sum(I, 0)),
    ok = file:close(I).

sum(D, N) ->
    case io:fread(D, "", "~d") of
        {ok, [X]} -> sum(D, N + X);
        eof -> N
    end.

raw() ->
    {ok, F} = file:open("raw", [raw, write, read, binary, delayed_write]),
    p(raw_write, [file:write(F, [integer_to_list(I), $\n]) || I <- [1, 2, 3]]),
    p(raw_sync, {file:datasync(F), file:position(F, 0)}),
    p(raw_lines, [file:read_line(F) || _ <- [1, 2, 3, 4]]),
    p(raw_close, file:close(F)),
    p(raw_read, file:read_file("raw")).

terms() ->
    Terms = [{a, 1}, "text", #{k => [<<"v">>]}, 1.5],
    ok = file:write_file("terms", [io_lib:format("~tp.~n", [T]) || T <- Terms]),
    p(consult, file:consult("terms") =:= {ok, Terms}),
    p(path_consult, case file:path_consult(["/nowhere", "."], "terms") of
                        {ok, T, Full} -> {T =:= Terms, Full}
                    end),
    ok = file:write_file("bad", "{a, 1}.\n{b, .\n"),
    p(bad, file:consult("bad")),
    ok = file:write_file("script", "X = 20,\nX + 22.\n"),
    p(script, file:script("script")),
    p(path_open, case file:path_open(["/nowhere", "."], "terms", [read]) of
                     {ok, D, Name} -> {file:close(D), Name}
                 end).

directories() ->
    p(mkdir, [file:make_dir("x"), file:make_dir("x"), filelib:ensure_dir("p/q/r/file")]),
    ok = file:write_file("p/q/one.erl", ""),
    ok = file:write_file("p/q/r/two.erl", ""),
    ok = file:write_file("p/three.hrl", ""),
    {ok, L} = file:list_dir("."),
    p(list, lists:sort(L)),
    p(wildcard, [lists:sort(filelib:wildcard(W)) || W <- ["*", "p/*", "p/**/*.erl", "p/{q,z}/*", "?", "[ab]"]]),
    p(fold, lists:sort(filelib:fold_files("p", "\\.[eh]rl$", true, fun(F, Acc) -> [F | Acc] end, []))),
    p(rename, [file:rename("p/three.hrl", "x/3"), file:read_file("x/3")]),
    p(del, [file:del_dir("x"), file:delete("x/3"), file:del_dir("x"), file:del_dir("x")]),
    p(links, [file:make_symlink("a", "s"), file:read_link("s"), file:make_link("a", "h"), file:read_file("s")]),
    {ok, Info} = file:read_file_info("a"),
    p(info, {element(2, Info), element(3, Info), element(4, Info), element(9, Info)}),
    {ok, Link} = file:read_link_info("s"),
    p(link_info, element(3, Link)),
    ok = file:change_mode("a", 8#600),
    {ok, Info2} = file:read_file_info("a"),
    p(mode, element(8, Info2) band 8#777),
    ok = file:change_time("a", {{2001, 2, 3}, {4, 5, 6}}),
    p(mtime, filelib:last_modified("a")),
    p(recursive, [file:del_dir_r("p"), filelib:is_dir("p")]).

copies() ->
    p(copy, [file:copy("a", "a2"), file:copy("a", "a3", 3), file:read_file("a2"), file:read_file("a3"),
             file:copy("nowhere", "a4")]),
    {ok, In} = file:open("a", [read, binary]),
    {ok, Out} = file:open("a5", [write]),
    p(copy_devices, {file:copy(In, Out), file:close(In), file:close(Out), file:read_file("a5")}).

errors() ->
    p(errors, [file:read_file("nowhere"), file:open("nowhere", [read]), file:open(".", [write]),
               file:read_file("."), file:write_file("no/where", ""), file:delete("nowhere"),
               file:list_dir("nowhere"), file:set_cwd("nowhere"), file:consult("nowhere"),
               element(1, file:open("a", [nonsense])), file:open({a}, [read]), file:read_file([a, {b}]),
               file:write_file("a", [foo]), file:read_file("a\0b"), file:make_dir("a/b"),
               file:rename("nowhere", "z"), file:read_link("a")]),
    p(format, [file:format_error(E) || E <- [enoent, eacces, badarg, {1, erl_parse, ["x"]}]]),
    {_, Ref} = spawn_monitor(fun() ->
                                     {ok, D} = file:open("a", [read]),
                                     put(dev, D),
                                     exit({opened, is_pid(D)})
                             end),
    receive {'DOWN', Ref, _, _, Why} -> p(owner_died, Why) end.
