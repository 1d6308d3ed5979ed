%% What the interface for native functions got after OTP 25. A VM that does not have it answers not_there, which
%% counts as what is expected, but of minivm: the values are those of OTP 28's documentation.
-module(nif_newer).
-export([start/0]).
-nifs([string_length/2, get_string/2, new_atom/2, term_size/1, make_string/1]).

string_length(_, _) -> erlang:nif_error(no).
get_string(_, _) -> erlang:nif_error(no).
new_atom(_, _) -> erlang:nif_error(no).
term_size(_) -> erlang:nif_error(no).
make_string(_) -> erlang:nif_error(no).

-define(LATIN1, 1).
-define(UTF8, 2).

start() ->
    ok = erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_newer"), 0),
    Cases =
        [{string_length(S, E), Expected} ||
            {S, E, Expected} <- [{"", ?LATIN1, 0}, {"abc", ?LATIN1, 3}, {[16#e9], ?LATIN1, 1}, {[256], ?LATIN1, false},
                                 {"", ?UTF8, 0}, {[16#e9], ?UTF8, 2}, {[$a, 16#20ac], ?UTF8, 4}, {[16#10ffff], ?UTF8, 4},
                                 {[16#110000], ?UTF8, false}, {[16#d800], ?UTF8, false}, {[-1], ?UTF8, false},
                                 {[1 bsl 70], ?UTF8, false}, {[a], ?UTF8, false}, {[$a | $b], ?UTF8, false},
                                 {[$a | $b], ?LATIN1, false}, {a, ?UTF8, false}, {<<"a">>, ?LATIN1, false}]] ++
        [{get_string(S, N), Expected} ||
            {S, N, Expected} <- [{"", 1, {1, <<>>}}, {"abc", 4, {4, <<"abc">>}}, {"abc", 3, {-3, <<"ab">>}},
                                 {[16#20ac], 4, {4, <<16#e2, 16#82, 16#ac>>}}, {[16#20ac], 3, {-1, <<>>}},
                                 {[$a, 16#20ac], 4, {-2, <<"a">>}}, {[16#d800], 8, {0, <<>>}}, {[$a | b], 8, {0, <<>>}}]] ++
        [{new_atom(N, E), Expected} ||
            {N, E, Expected} <- [{<<>>, ?LATIN1, ''}, {<<"ab">>, ?UTF8, ab}, {<<16#e9>>, ?LATIN1, 'é'},
                                 {<<"é"/utf8>>, ?UTF8, 'é'}, {<<"ж"/utf8>>, ?UTF8, 'ж'}, {<<16#ff>>, ?UTF8, false},
                                 {binary:copy(<<"a">>, 255), ?LATIN1, list_to_atom(lists:duplicate(255, $a))},
                                 {binary:copy(<<"a">>, 256), ?LATIN1, false},
                                 {binary:copy(<<"ж"/utf8>>, 255), ?UTF8, list_to_atom(lists:duplicate(255, 16#436))},
                                 {binary:copy(<<"ж"/utf8>>, 256), ?UTF8, false}, {<<"ab">>, 3, false}]] ++
        [{try make_string(B) catch error:R -> R end, Expected} ||
            {B, Expected} <- [{<<>>, ""}, {<<"aéж"/utf8>>, "aéж"}, {<<16#f4, 16#8f, 16#bf, 16#bf>>, [16#10ffff]},
                              {<<16#80>>, badarg}, {<<"a", 16#ff>>, badarg}, {<<"a", 16#c3>>, badarg}, {<<16#c0, 16#80>>, badarg},
                              {<<16#ed, 16#a0, 16#80>>, badarg}, {<<16#f4, 16#90, 16#80, 16#80>>, badarg}]] ++
        [{term_size(T), Expected} || {T, Expected} <- [{a, 0}, {17, 0}, {[], 0}, {[a], 2}, {{a, b, c}, 4}, {"abc", 6}]],
    Lacking = not erlang:function_exported(minivm, trace_frames, 1),
    [io:format("~p instead of ~p~n", [Got, Expected]) ||
        {Got, Expected} <- Cases, Got =/= Expected, not (Lacking andalso Got =:= not_there)],
    io:format("~p cases~n", [length(Cases)]).
