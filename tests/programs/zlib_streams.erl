%% Streams of zlib: chunks, flushing, dictionaries, parameters, what is left behind the end, owners.
-module(zlib_streams).
-export([main/1]).

main(_) ->
    Text = iolist_to_binary([[integer_to_binary(N * N rem 9973), $ ] || N <- lists:seq(1, 20000)]),
    Z = zlib:open(),
    io:format("~p~n", [[e(fun() -> zlib:deflate(Z, "x") end), e(fun() -> zlib:inflateEnd(Z) end),
                        e(fun() -> zlib:close(self()) end), e(fun() -> zlib:deflateInit(Z, 11) end)]]),
    ok = zlib:deflateInit(Z, best_compression, deflated, 15, 9, default),
    Parts = [zlib:deflate(Z, binary:part(Text, P, min(1000, byte_size(Text) - P)), F)
             || {P, F} <- lists:zip(lists:seq(0, byte_size(Text) - 1, 1000),
                                    flushes((byte_size(Text) + 999) div 1000))],
    Last = zlib:deflate(Z, [], finish),
    ok = zlib:deflateEnd(Z),
    Packed = iolist_to_binary([Parts, Last]),
    io:format("~p ~p~n", [erlang:md5(Packed), zlib:uncompress(Packed) =:= Text]),
    ok = zlib:inflateInit(Z),
    Loop = fun Loop({continue, Out}, Acc) -> Loop(zlib:safeInflate(Z, []), [Out | Acc]);
               Loop({finished, Out}, Acc) -> lists:reverse([Out | Acc])
           end,
    Safe = Loop(zlib:safeInflate(Z, Packed), []),
    io:format("~p ~p~n", [iolist_to_binary(Safe) =:= Text, length(Safe) > 5]),
    ok = zlib:inflateEnd(Z),
    %% a dictionary
    ok = zlib:deflateInit(Z),
    Adler = zlib:deflateSetDictionary(Z, "square numbers"),
    WithDictionary = iolist_to_binary(zlib:deflate(Z, "all square numbers are numbers", finish)),
    zlib:deflateEnd(Z),
    zlib:inflateInit(Z),
    {need_dictionary, Adler, []} = zlib:inflate(Z, WithDictionary, [{exception_on_need_dict, false}]),
    ok = zlib:inflateSetDictionary(Z, "square numbers"),
    io:format("~p ~p~n", [Adler, iolist_to_binary(zlib:inflate(Z, []))]),
    io:format("~p~n", [iolist_to_binary(zlib:inflateGetDictionary(Z))]),
    zlib:inflateEnd(Z),
    %% parameters that change on the way
    ok = zlib:deflateInit(Z, none),
    A = zlib:deflate(Z, Text),
    ok = zlib:deflateParams(Z, best_compression, default),
    B = zlib:deflate(Z, Text, finish),
    zlib:deflateEnd(Z),
    io:format("~p ~p~n", [erlang:md5([A, B]), zlib:uncompress(iolist_to_binary([A, B])) =:= <<Text/binary, Text/binary>>]),
    %% behind the end
    Two = [zlib:gzip("one"), zlib:gzip("two")],
    io:format("~p~n", [[begin
                            ok = zlib:inflateInit(Z, 31, Behavior),
                            R = e(fun() -> iolist_to_binary(zlib:inflate(Z, Two)) end),
                            {R, e(fun() -> zlib:inflateEnd(Z) end)}
                        end || Behavior <- [cut, reset, error]]]),
    io:format("~p~n", [[e(fun() -> zlib:uncompress(X) end)
                        || X <- [binary:part(Packed, 0, 100), <<>>, <<"nonsense">>, not_data,
                                 <<Packed/binary, "more">>]]]),
    io:format("~p~n", [[e(fun() -> zlib:gunzip(X) end) || X <- [iolist_to_binary(Two), <<31, 139>>]]]),
    io:format("~p~n", [[zlib:unzip(zlib:zip(Text)) =:= Text, erlang:crc32(Text), erlang:adler32(Text)]]),
    %% another process's
    {_, Ref} = spawn_monitor(fun() -> exit(e(fun() -> zlib:deflateInit(Z) end)) end),
    io:format("~p~n", [receive {'DOWN', Ref, _, _, Why} -> Why end]),
    Self = self(),
    Pid = spawn(fun() -> receive go -> ok end, ok = zlib:deflateInit(Z), Self ! {self(), zlib:deflate(Z, "a", finish)} end),
    ok = zlib:set_controlling_process(Z, Pid),
    Pid ! go,
    io:format("~p ~p~n", [receive {Pid, Out} -> iolist_to_binary(Out) end, e(fun() -> zlib:close(Z) end)]).

flushes(N) -> [lists:nth(1 + I rem 3, [none, sync, full]) || I <- lists:seq(1, N)].

e(F) -> try F() catch C:E -> {C, E} end.
