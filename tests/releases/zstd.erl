%% Module zstd as OTP 28 declares it, for a tree of libraries that has none: its functions are the VM's own.
-module(zstd).
-export([main/1]).
-nifs([init_compress_nif/0, init_decompress_nif/0, compress_stream_nif/3, decompress_stream_nif/3,
       set_compress_parameter_nif/3, get_compress_parameter_nif/2, set_pledged_src_size_nif/2,
       compress_reset_nif/1, compress_close_nif/1, decompress_close_nif/1, create_cdict_nif/2, create_ddict_nif/1,
       ref_compress_dictionary_nif/2, ref_decompress_dictionary_nif/2, load_decompress_dictionary_nif/2,
       getDictId_fromDict_nif/1, get_frame_header_nif/1,
       load_compress_dictionary_nif/2, set_decompress_parameter_nif/3, get_decompress_parameter_nif/2,
       decompress_reset_nif/1, getDictId_fromCDict_nif/1, getDictId_fromDDict_nif/1, getDictId_fromFrame_nif/1]).
-define(NATIVE, erlang:nif_error(undef)).
-define(CONTINUE, 0).
-define(END, 2).

main(_) ->
    ok = erlang:load_nif("zstd", zstd),
    Frame = <<40,181,47,253,32,3,25,0,0,"abc">>,
    print(frame, fun() -> decompressed(Frame) end),
    print(header, fun() -> {ok, Header} = get_frame_header_nif(Frame), lists:sort(maps:to_list(Header)) end),
    Text = binary:copy(iolist_to_binary([integer_to_binary(N) || N <- lists:seq(1, 2000)]), 50),
    print(round_trip, fun() -> decompressed(compressed(Text)) =:= Text end),
    print(byte_by_byte, fun() -> byte_by_byte(binary:part(Text, 0, 20000)) =:= binary:part(Text, 0, 20000) end),
    print(nonsense, fun() -> decompressed(<<"nonsense">>) end),
    print(no_binary, fun() -> decompressed(not_binary) end),
    print(parameters, fun parameters/0),
    print(pledged, fun() -> Context = init_compress_nif(), ok = set_pledged_src_size_nif(Context, 3),
                            compress_stream_nif(Context, <<"four">>, ?CONTINUE) end),
    print(closed, fun() -> Context = init_compress_nif(), ok = compress_close_nif(Context),
                           compress_stream_nif(Context, <<>>, ?CONTINUE) end),
    print(of_another, fun of_another/0),
    print(dictionaries, fun dictionaries/0),
    print(bad_dictionary, fun() -> create_ddict_nif(<<16#EC30A437:32/little, 77:32/little, "not one">>) end),
    print(ids, fun() -> [getDictId_fromDict_nif(<<16#EC30A437:32/little, 77:32/little, "not one">>),
                         getDictId_fromCDict_nif(create_cdict_nif(<<"words">>, 1)),
                         getDictId_fromDDict_nif(create_ddict_nif(<<"words">>)), getDictId_fromFrame_nif(Frame)] end).

print(What, Fun) ->
    Result = try Fun() catch Class:Reason -> {Class, Reason} end,
    io:format("~p: ~p~n", [What, Result]).

parameters() ->
    Context = init_compress_nif(),
    Set = fun(Key, Value) -> try set_compress_parameter_nif(Context, Key, Value) catch error:Reason -> Reason end end,
    {[Set(Key, Value) || {Key, Value} <- [{compressionLevel, 7}, {strategy, lazy}, {checksumFlag, true}, {windowLog, 99},
                                          {no_such, 1}, {compressionLevel, high}]],
     [get_compress_parameter_nif(Context, Key) || Key <- [compressionLevel, strategy]], window()}.

window() ->
    Context = init_decompress_nif(),
    ok = set_decompress_parameter_nif(Context, windowLogMax, 20),
    ok = decompress_reset_nif(Context),
    get_decompress_parameter_nif(Context, windowLogMax).

of_another() ->
    Context = init_compress_nif(),
    {_, Monitor} = spawn_monitor(fun() -> exit(try compress_reset_nif(Context) catch error:Reason -> Reason end) end),
    receive {'DOWN', Monitor, process, _, Reason} -> Reason end.

dictionaries() ->
    Words = iolist_to_binary([["some words ", integer_to_binary(N)] || N <- lists:seq(1, 1000)]),
    Compress = init_compress_nif(),
    ok = ref_compress_dictionary_nif(Compress, create_cdict_nif(Words, 3)),
    {done, Small} = compress_stream_nif(Compress, <<"some words 999">>, ?END),
    Decompress = init_decompress_nif(),
    ok = ref_decompress_dictionary_nif(Decompress, create_ddict_nif(Words)),
    erlang:garbage_collect(),  % the contexts keep the dictionaries
    Loaded = init_decompress_nif(),
    ok = load_decompress_dictionary_nif(Loaded, Words),
    ok = load_compress_dictionary_nif(init_compress_nif(), Words),
    [decompress_stream_nif(Decompress, Small, ?END), decompress_stream_nif(Loaded, Small, ?END)].

compressed(Bytes) -> all(fun compress_stream_nif/3, init_compress_nif(), Bytes).
decompressed(Bytes) -> all(fun decompress_stream_nif/3, init_decompress_nif(), Bytes).

all(Step, Context, Bytes) ->
    case Step(Context, Bytes, ?END) of
        {continue, Rest, Output} -> <<Output/binary, (all(Step, Context, Rest))/binary>>;
        {flush, Output} -> <<Output/binary, (all(Step, Context, <<>>))/binary>>;
        {done, Output} -> Output
    end.

byte_by_byte(Bytes) ->
    Context = init_decompress_nif(),
    Output = << <<(element(2, decompress_stream_nif(Context, <<Byte>>, ?CONTINUE)))/binary>> ||
                <<Byte>> <= compressed(Bytes) >>,
    ok = decompress_close_nif(Context),
    Output.

init_compress_nif() -> ?NATIVE.
init_decompress_nif() -> ?NATIVE.
compress_stream_nif(_, _, _) -> ?NATIVE.
decompress_stream_nif(_, _, _) -> ?NATIVE.
set_compress_parameter_nif(_, _, _) -> ?NATIVE.
get_compress_parameter_nif(_, _) -> ?NATIVE.
set_pledged_src_size_nif(_, _) -> ?NATIVE.
compress_reset_nif(_) -> ?NATIVE.
compress_close_nif(_) -> ?NATIVE.
decompress_close_nif(_) -> ?NATIVE.
create_cdict_nif(_, _) -> ?NATIVE.
create_ddict_nif(_) -> ?NATIVE.
ref_compress_dictionary_nif(_, _) -> ?NATIVE.
ref_decompress_dictionary_nif(_, _) -> ?NATIVE.
load_decompress_dictionary_nif(_, _) -> ?NATIVE.
getDictId_fromDict_nif(_) -> ?NATIVE.
get_frame_header_nif(_) -> ?NATIVE.
load_compress_dictionary_nif(_, _) -> ?NATIVE.
set_decompress_parameter_nif(_, _, _) -> ?NATIVE.
get_decompress_parameter_nif(_, _) -> ?NATIVE.
decompress_reset_nif(_) -> ?NATIVE.
getDictId_fromCDict_nif(_) -> ?NATIVE.
getDictId_fromDDict_nif(_) -> ?NATIVE.
getDictId_fromFrame_nif(_) -> ?NATIVE.
