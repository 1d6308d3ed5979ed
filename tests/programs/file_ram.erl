%% Files in memory: what file:open/2 makes of `ram`. The driver was taken for a program to be run, and who
%% opened one waited for ever.
-module(file_ram).
-export([main/1]).

main(_) ->
    {ok, F} = file:open(<<"The quick brown fox">>, [ram, read, write, binary]),
    p(size, ram_file:get_size(F)),
    p(read, [file:read(F, 4), file:read(F, 0), file:read(F, 100), file:read(F, 1)]),
    p(position, [file:position(F, P) || P <- [bof, 4, {cur, 2}, {eof, -3}, {bof, -1}, {cur, -100}]]),
    p(pread, [file:pread(F, At, 5) || At <- [0, 15, 19, 100]]),
    p(pread, file:pread(F, [{0, 3}, {4, 5}, {18, 10}, {30, 1}])),
    p(write, [file:position(F, 4), file:write(F, <<"slow ">>), file:position(F, cur), ram_file:get_file(F)]),
    p(pwrite, [file:pwrite(F, 25, "end"), file:pwrite(F, [{0, "th"}, {2, <<"3">>}]), ram_file:get_file(F)]),
    p(truncate, [file:position(F, 7), file:truncate(F), ram_file:get_file(F), file:position(F, 12), file:truncate(F), ram_file:get_file(F)]),
    p(others, [file:sync(F), file:datasync(F), file:advise(F, 0, 0, normal), file:allocate(F, 0, 100), ram_file:get_size(F)]),
    p(close, [file:close(F), file:read(F, 1)]),
    {ok, L} = file:open("a list\nof lines\n", [ram, read]),
    p(list, [file:read(L, 6), file:pread(L, 7, 2), file:pread(L, 90, 2), file:write(L, "x"), file:truncate(L), file:read(L, 1 bsl 40)]),
    p(close, file:close(L)),
    {ok, W} = file:open([], [ram, write]),
    p(write_only, [file:write(W, "abc"), file:read(W, 1), ram_file:get_file(W)]),
    p(bad, [file:open(<<"x">>, [ram, read, append]), file:open(not_bytes, [ram, read])]),
    tar(),
    other_owner().

%% A tar file of which only the bytes are there.
tar() ->
    ok = erl_tar:create("file_ram.tar", [{"a.txt", <<"contents of a">>}, {"d/b.txt", binary:copy(<<"b">>, 1000)}], []),
    {ok, Bytes} = file:read_file("file_ram.tar"),
    p(tar, erl_tar:table({binary, Bytes})),
    {ok, Files} = erl_tar:extract({binary, Bytes}, [memory]),
    p(extract, [{Name, byte_size(B)} || {Name, B} <- Files]),
    {ok, Packed} = erl_tar:extract({binary, zlib:gzip(Bytes)}, [memory, compressed]),
    p(compressed, Packed =:= Files),
    p(no_tar, element(1, erl_tar:table({binary, <<"not a tar file at all">>}))),
    file:delete("file_ram.tar").

%% It ends with the process that opened it.
other_owner() ->
    Self = self(),
    {P, Ref} = spawn_monitor(fun() ->
                                     {ok, F} = file:open(<<"of another">>, [ram, read, binary]),
                                     Self ! {file, F, file:read(F, 2)}
                             end),
    receive {file, F, Read} -> p(other, Read) end,
    receive {'DOWN', Ref, process, P, Why} -> p(down, Why) end,
    p(gone, file:read(F, 1)).

p(Name, Value) -> io:format("~w: ~0p~n", [Name, Value]).
