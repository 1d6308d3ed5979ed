%% Raw files and the file system through prim_file, which needs no server: contents, positions, errors.
-module(file_raw).
-export([main/1]).

main(_) ->
    {ok, Cwd} = prim_file:get_cwd(),
    Dir = filename:join("/tmp", "minivm_file_raw_" ++ os:getpid()),
    ok = prim_file:make_dir(Dir),
    ok = prim_file:set_cwd(Dir),
    try
        contents(),
        positions(),
        lines(),
        modes(),
        file_system(),
        errors(),
        values_out_of_range()
    after
        ok = prim_file:set_cwd(Cwd),
        {ok, Left} = prim_file:list_dir(Dir),
        [ok = prim_file:delete(filename:join(Dir, F)) || F <- Left],
        ok = prim_file:del_dir(Dir)
    end,
    p(gone, prim_file:read_file_info(Dir)).

p(Name, Value) -> io:format("~w: ~tp~n", [Name, Value]).

contents() ->
    p(write, prim_file:write_file("a", ["one ", <<"two">>, [$\s, "three"]])),
    p(read, prim_file:read_file("a")),
    p(binary_name, prim_file:read_file(<<"a">>)),
    p(empty, {prim_file:write_file("e", ""), prim_file:read_file("e")}),
    Big = binary:copy(<<"0123456789abcdef">>, 70000),
    p(big, {prim_file:write_file("big", Big), prim_file:read_file("big") =:= {ok, Big}}),
    p(unicode_name, {prim_file:write_file([229, 8364, $z], "x"), prim_file:read_file([229, 8364, $z]),
                     prim_file:delete([229, 8364, $z])}).

positions() ->
    {ok, F} = prim_file:open("a", [read, write, binary]),
    p(read3, prim_file:read(F, 3)),
    p(cur, prim_file:position(F, cur)),
    p(bof, prim_file:position(F, {bof, 4})),
    p(read, prim_file:read(F, 3)),
    p(eof, prim_file:position(F, {eof, -5})),
    p(rest, prim_file:read(F, 100)),
    p(at_end, prim_file:read(F, 100)),
    p(none, prim_file:read(F, 0)),
    p(pread, prim_file:pread(F, 4, 3)),
    p(pread_list, prim_file:pread(F, [{0, 3}, {4, 3}, {1000, 1}])),
    p(pwrite, prim_file:pwrite(F, 4, "TWO")),
    p(pwrite_list, prim_file:pwrite(F, [{0, "ONE"}, {20, <<"after a hole">>}])),
    p(sync, {prim_file:sync(F), prim_file:datasync(F)}),
    p(whole, prim_file:read_file("a")),
    p(truncate, {prim_file:position(F, 7), prim_file:truncate(F), prim_file:read_file("a")}),
    p(allocate, prim_file:allocate(F, 0, 4096)),
    p(advise, [prim_file:advise(F, 0, 0, A) || A <- [normal, sequential, random, will_need, dont_need,
                                                     no_reuse, nonsense]]),
    p(bad, [prim_file:position(F, X) || X <- [-1, {cur, -100}, {eof, x}, nowhere, {bof, 1 bsl 70}]]),
    p(bad_read, [prim_file:pread(F, At, N) || {At, N} <- [{-1, 1}, {0, -1}, {x, 1}, {1 bsl 62, 1}]]),
    p(close, prim_file:close(F)),
    p(closed, {prim_file:read(F, 1), prim_file:write(F, "x"), prim_file:close(F)}).

lines() ->
    ok = prim_file:write_file("lines", ["first\n", "second\r\n", lists:duplicate(700, $x), "\n", "last"]),
    [begin
         {ok, F} = prim_file:open("lines", [read, binary | O]),
         {ok, L} = prim_file:read_line(F),
         {ok, Some} = prim_file:read(F, 3),
         p(O, {L, Some, prim_file:position(F, cur), all_lines(F)}),
         ok = prim_file:close(F)
     end || O <- [[], [read_ahead], [{read_ahead, 5}]]].

all_lines(F) ->
    case prim_file:read_line(F) of
        {ok, L} -> [byte_size(L) | all_lines(F)];
        eof -> [eof]
    end.

modes() ->
    p(exclusive, {element(1, prim_file:open("x", [exclusive])), prim_file:open("x", [exclusive])}),
    {ok, A} = prim_file:open("x", [append]),
    ok = prim_file:write(A, "1"),
    {ok, 0} = prim_file:position(A, 0),
    ok = prim_file:write(A, "2"),
    p(append_read, prim_file:read(A, 1)),
    ok = prim_file:close(A),
    p(appended, prim_file:read_file("x")),
    {ok, R} = prim_file:open("x", [read]),
    p(read_only, prim_file:write(R, "x")),
    {ok, W} = prim_file:open("x", [write]),
    p(write_only, {prim_file:read(W, 1), prim_file:read_file("x")}),
    p(many, prim_file:write(W, [integer_to_list(I) || I <- lists:seq(1, 5000)])),
    {ok, All} = prim_file:read_file("x"),
    p(md5, {byte_size(All), erlang:md5(All)}).

file_system() ->
    p(sorted, begin {ok, L} = prim_file:list_dir("."), lists:sort(L) end),
    p(mkdir, {prim_file:make_dir("d"), prim_file:make_dir("d")}),
    p(rename, {prim_file:rename("a", "d/b"), prim_file:read_file("a"), prim_file:read_file("d/b")}),
    p(not_empty, prim_file:del_dir("d")),
    p(links, {prim_file:make_symlink("d/b", "s"), prim_file:read_link("s"), prim_file:read_file("s"),
              prim_file:make_link("d/b", "h"), prim_file:make_link("nowhere", "h2")}),
    p(info, [info(prim_file:read_file_info(N)) || N <- ["d", "s", "d/b", "/dev/null", "nowhere"]]),
    p(link_info, info(prim_file:read_link_info("s"))),
    ok = prim_file:write_file_info("h", {file_info, undefined, undefined, undefined, 1000000000,
                                         1100000000, undefined, 8#640, undefined, undefined, undefined,
                                         undefined, undefined, undefined}, [{time, posix}]),
    {ok, I} = prim_file:read_file_info("h", [{time, posix}]),
    p(written_info, {element(5, I), element(6, I), element(8, I)}),
    {ok, U} = prim_file:read_file_info("h", [{time, universal}]),
    p(universal, {element(5, U), element(6, U)}),
    [ok = prim_file:delete(N) || N <- ["d/b", "s", "h"]],
    p(del_dir, prim_file:del_dir("d")).

values_out_of_range() ->
    ok = prim_file:write_file("v", "text"),
    p(owner, [write_info("v", [{13, Uid}]) || Uid <- [-1, 1 bsl 32, -(1 bsl 31) - 1, 1 bsl 70]]),
    p(group, write_info("v", [{14, 1 bsl 32}])),
    p(mode, [{write_info("v", [{8, M}]), mode_of("v")} || M <- [8#644, -1, 1 bsl 32, 8#1755, 8#7755, 8#100600]]),
    {ok, F} = prim_file:open("v", [read, binary]),
    p(rights, [begin
                   ok = write_info("v", [{8, M}]),
                   {ok, I} = prim_file:read_handle_info(F),
                   element(4, I)
               end || M <- [0, 8#077, 8#200, 8#400, 8#600]]),
    p(nothing, {prim_file:pread(F, 0, 0), prim_file:pread(F, [{0, 0}, {0, 1}]), prim_file:read(F, 0)}),
    p(read_huge, {prim_file:read(F, 1 bsl 70), prim_file:pread(F, 1 bsl 70, 1), prim_file:pread(F, 0, 1 bsl 70)}),
    ok = prim_file:close(F),
    p(read_closed, {prim_file:read(F, 1 bsl 70), prim_file:pread(F, x, 1)}),
    p(early, [begin
                  ok = write_info("v", [{5, T}, {6, T}, {7, T}]),
                  {ok, I} = prim_file:read_file_info("v", [{time, posix}]),
                  {element(5, I), element(6, I)}
              end || T <- [-2145916900, -2145916800, 0]]),
    p(improper_names, [prim_file:read_file(N) || N <- [[$v | $b], [[$v | $b]], [[$v | $b], $c], [$v | b], [[[] | 1]]]]),
    p(unlocked_buffer, try prim_buffer:unlock(prim_buffer:new()) catch C:E -> {C, E} end).

%% Sets these fields of the file's #file_info{}.
write_info(Name, Fields) ->
    Nothing = list_to_tuple([file_info | lists:duplicate(13, undefined)]),
    Info = lists:foldl(fun({N, V}, I) -> setelement(N, I, V) end, Nothing, Fields),
    prim_file:write_file_info(Name, Info, [{time, posix}]).

mode_of(Name) ->
    {ok, I} = prim_file:read_file_info(Name),
    element(8, I).

info({ok, I}) -> {element(1, I), element(3, I), element(4, I), element(9, I)};
info(E) -> E.

errors() ->
    p(open, [prim_file:open(N, M) || {N, M} <- [{"nowhere", [read]}, {".", [read]}, {".", [write]},
                                                {"big", [directory]}, {".", [directory, write]},
                                                {"big/x", [read]}, {foo, [read]}, {"a\0b", [read]}]]),
    p(names, [prim_file:read_file(N) || N <- [".", [], "nowhere", <<"big", 0>>, [a], {x}, [16#110000]]]),
    p(others, [prim_file:delete("."), prim_file:del_dir("big"), prim_file:del_dir("nowhere"),
               prim_file:rename("nowhere", "y"), prim_file:list_dir("big"), prim_file:read_link("big"),
               prim_file:set_cwd("nowhere"), prim_file:make_dir("no/where"), prim_file:altname("big"),
               prim_file:get_cwd("c:"), prim_file:get_cwd("x"), prim_file:set_cwd(<<255>>)]),
    {ok, F} = prim_file:open("big", [read]),
    {_, Ref} = spawn_monitor(fun() -> exit(try prim_file:read(F, 1) catch C:R -> {C, R} end) end),
    receive {'DOWN', Ref, _, _, Why} -> p(not_owner, Why) end,
    p(not_a_file, [prim_file:read(X, 1) || X <- [setelement(3, F, #{owner => self(), handle => make_ref(),
                                                                   r_ahead_size => 0,
                                                                   r_buffer => prim_buffer:new()})]]).
