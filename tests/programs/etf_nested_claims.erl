%% Objects in each other that each claim all the bytes that follow: badarg, with no memory taken for what they claim.
-module(etf_nested_claims).
-export([start/0]).

start() ->
    [begin
         Bytes = <<131, (iolist_to_binary(nested(Kind, N)))/binary, 106>>,
         Zip = zlib:compress(binary:part(Bytes, 1, byte_size(Bytes) - 1)),
         Packed = <<131, 80, (byte_size(Bytes) - 1):32, Zip/binary>>,
         io:format("~p ~p ~p ~p ~p~n", [Kind, N, decoded(Bytes, []), decoded(Bytes, [safe]), decoded(Packed, [])])
     end || N <- [3, 60, 8000, 100000], Kind <- [list, tuple, map, mixed]],
    %% What is claimed is there, to the last byte.
    [begin
         Bytes = term_to_binary(T),
         Short = binary:part(Bytes, 0, byte_size(Bytes) - 1),
         io:format("~p ~p~n", [binary_to_term(Bytes) =:= T, decoded(Short, [])])
     end || T <- [[[[[]]]], {{{}, {}}, {}}, [{} | {[]}], #{a => #{}, [] => [[]]}, lists:seq(1000, 2000),
                  list_to_tuple(lists:duplicate(300, [])), [[] || _ <- lists:seq(1, 1000)] ++ [],
                  maps:from_list([{[N], []} || N <- lists:seq(1, 100)])]],
    io:format("~p~n", [[decoded(<<131, 108, 0:32, 106>>, []), decoded(<<131, 108, 1:32, 106, 106>>, []),
                        decoded(<<131, 108, 1:32, 106>>, []), decoded(<<131, 105, 2:32, 106, 106>>, []),
                        decoded(<<131, 105, 2:32, 106>>, []), decoded(<<131, 116, 1:32, 106, 106>>, []),
                        decoded(<<131, 116, 1:32, 106>>, []), decoded(<<131, 116, -1:32, 106, 106>>, [])]]).

decoded(Bytes, Options) ->
    try binary_to_term(Bytes, Options)
    catch Class:Reason -> {Class, Reason}
    end.

%% N headers, each with as many elements as bytes follow it.
nested(Kind, N) -> nested(Kind, N, 1, []).

nested(_, 0, _, Bytes) -> Bytes;
nested(mixed, N, Left, Bytes) ->
    Kind = element(1 + N rem 3, {list, tuple, map}),
    nested(mixed, N - 1, Left + 5, [header(Kind, Left) | Bytes]);
nested(Kind, N, Left, Bytes) -> nested(Kind, N - 1, Left + 5, [header(Kind, Left) | Bytes]).

header(list, Left) -> <<108, Left:32>>;
header(tuple, Left) -> <<105, Left:32>>;
header(map, Left) -> <<116, (Left div 2):32>>.
