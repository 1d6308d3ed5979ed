%% A receive that fails for its timeout has looked at the messages: the next one begins at the front.
-module(receive_bad_timeout).
-export([main/1]).

main(_) ->
    self() ! first,
    io:format("~p~n", [catch_timeout(blupp)]),
    io:format("~p~n", [receive first -> ok after 0 -> lost end]),
    self() ! second,
    Ref = make_ref(),
    io:format("~p~n", [catch_timeout(-1)]),
    self() ! Ref,
    io:format("~p~n", [receive second -> ok after 0 -> lost end]),
    io:format("~p~n", [receive Ref -> ok after 0 -> lost end]),
    %% options of error/3 that are none
    [io:format("~p~n", [try error(a, [1], O) catch C:R:S -> {C, R, shown(hd(S))} end]) ||
        O <- [[], [{error_info, #{}}], [{error_info, x}], [bad], [{bad, tuple}], [{error_info, #{}} | x]]],
    W = <<(iolist_to_binary([]))/binary, 0, 1, 2, 3>>,
    io:format("~p~n", [erts_debug:same(W, append(W, <<>>))]).

shown({M, F, A, Info}) -> {M, F, A, lists:keymember(error_info, 1, Info)}.

append(A, B) -> <<A/binary, B/binary>>.

catch_timeout(T) ->
    try receive nothing -> ok after T -> ok end
    catch C:R -> {C, R}
    end.
