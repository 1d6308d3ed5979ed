%% Native libraries find zlib in the program, as in OTP's emulator: ezlib of ejabberd is linked without it.
-module(nif_zlib).
-export([start/0]).
-nifs([lacking/0, sums/1, pack/1, unpack/1, stream/1]).

lacking() -> erlang:nif_error(no).
sums(_) -> erlang:nif_error(no).
pack(_) -> erlang:nif_error(no).
unpack(_) -> erlang:nif_error(no).
stream(_) -> erlang:nif_error(no).

start() ->
    ok = erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_zlib"), 0),
    Text = binary:copy(<<"a line of text, ">>, 1000),
    io:format("~p ~p~n", [lacking(), sums(Text) =:= {erlang:crc32(Text), erlang:adler32(Text)}]),
    io:format("~p~n", [[unpack(pack(Text)) =:= Text, zlib:uncompress(pack(Text)) =:= Text,
                        unpack(zlib:compress(Text)) =:= Text, stream(pack(Text)) =:= Text, unpack(<<"no">>)]]).
