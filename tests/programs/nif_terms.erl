%% All that the interface for native functions says of terms and makes of them.
-module(nif_terms).
-export([start/0]).
-nifs([inspect/1, compare/2, text/1, formats/1, make/1, from_binary/2, raising/1, walk/1, change/3,
       from_arrays/1, through/1, through_dirty/1, text_on_small_stack/2, room/1]).

inspect(_) -> erlang:nif_error(no).
compare(_, _) -> erlang:nif_error(no).
text(_) -> erlang:nif_error(no).
formats(_) -> erlang:nif_error(no).
make(_) -> erlang:nif_error(no).
from_binary(_, _) -> erlang:nif_error(no).
raising(_) -> erlang:nif_error(no).
walk(_) -> erlang:nif_error(no).
change(_, _, _) -> erlang:nif_error(no).
from_arrays(_) -> erlang:nif_error(no).
through(_) -> erlang:nif_error(no).
through_dirty(_) -> erlang:nif_error(no).
text_on_small_stack(_, _) -> erlang:nif_error(no).
room(_) -> erlang:nif_error(no).

start() ->
    ok = erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_terms"), 0),
    Large = binary:copy(<<"0123456789">>, 30),
    <<_:24, Part:100/binary, _/binary>> = Large,
    <<_:3, Bits:71/bitstring, _/bitstring>> = Large,
    <<_:3, Unaligned:100/binary, _/bitstring>> = Large,
    Terms = [0, 1, -1, 127, 255, 256, 1 bsl 31 - 1, 1 bsl 31, -(1 bsl 31), -(1 bsl 31) - 1,
             1 bsl 32 - 1, 1 bsl 32, 1 bsl 59 - 1, 1 bsl 59, -(1 bsl 59), 1 bsl 60, -(1 bsl 60) - 1,
             1 bsl 63 - 1, 1 bsl 63, -(1 bsl 63), -(1 bsl 63) - 1, 1 bsl 64 - 1, 1 bsl 64, 1 bsl 200,
             1.0, -2.5, 1.0e300, 1.0e-300, a, abc, abcd, '', 'with space', 'été', 'ж', true,
             [], [1], [a | b], "abc", "abcd", [256], "ab" ++ [-1], [$a, b], "été", [[<<"io">>, $l | "x"], <<>>],
             {}, {1}, {a, "b", 3.0}, <<>>, <<"abc">>, <<1:1>>, Large, Part, Bits, Unaligned,
             #{}, #{a => 1}, maps:from_list([{I, I} || I <- lists:seq(1, 20)]),
             fun lists:map/2, fun(X) -> X end],
    [io:format("~w~n~w~n", [mask(T), mask_all(inspect(T))]) || T <- Terms],
    [length(inspect(T)) > 10 orelse exit(T) || T <- [self(), make_ref(), hd(erlang:ports() ++ [x])]],
    Plain = [T || T <- Terms, not is_function(T)],
    io:format("~w~n", [[[compare(A, B) || B <- Plain] || A <- Plain]]),
    Printed = [T || T <- Plain, not (is_map(T) andalso map_size(T) > 32), T =/= Unaligned,
                    T =/= Bits] ++
              ["\n\t\"quoted\"'\\", <<"\"text\"">>, <<"a\n">>, 'it\'s', 'a@B_1', 'Upper', [[], [[]]], {{}},
               #{"a" => #{1 => [x | y]}}, fun erlang:'+'/2],
    [io:format("~w~n", [text(T)]) || T <- Printed],
    %% Deep terms overflowed the stack of a thread; long ones are cut.
    io:format("~w~n", [[text_on_small_stack(Kind, N) ||
                           {Kind, N} <- [{tuples, 40000}, {lists, 40000}, {maps, 40000}, {pairs, 200000}, {$a, 99998},
                                         {$a, 99999}, {$a, 100000}, {7, 99999}, {7, 100000}, {ab, 200000}]]]),
    %% A size that no machine has ended the VM.
    io:format("~w~n", [[room(Size) || Size <- [100, 1 bsl 46, 1 bsl 62]]]),
    io:format("~s~n", [formats({a, [1, 2]})]),
    [io:format("~w~n", [M]) || M <- make({some, #{"term" => [1.5, <<"x">>]}})],
    External = term_to_binary({external, [1, 2, 3]}),
    [io:format("~w~n", [from_binary(B, S)])
     || {B, S} <- [{External, 0}, {<<External/binary, "rest">>, 0}, {<<131>>, 0}, {<<>>, 0}, {<<131, 255>>, 1},
                   {<<131, 100, 0, 20, "no such atom as this">>, 1},
                   {term_to_binary(lists:duplicate(500, "long"), [compressed]), 1}]],
    [io:format("~w~n", [try raising(N) catch C:R -> {C, R} end]) || N <- lists:seq(0, 6)],
    io:format("~w~n", [walk(#{})]),
    io:format("~w~n", [walk(#{a => 1, b => 2, "c" => 3})]),
    io:format("~w~n", [catch element(1, element(2, catch walk(no_map)))]),
    Map = maps:from_list([{I, I * I} || I <- lists:seq(1, 1000)]),
    {There, Back, Heads, Tails, First} = walk(Map),
    io:format("~w~n", [{lists:sort(There) =:= lists:sort(maps:to_list(Map)), Back =:= lists:reverse(There),
                        Heads, Tails, {First, maps:get(First, Map)} =:= lists:last(There)}]),
    [io:format("~w~n", [change(M, K, new)]) || M <- [#{}, #{a => 1}, #{a => 1, b => 2}, no_map], K <- [a, 1.0]],
    {S1, P1, U1, R1, #{}} = change(Map, 7, new),
    io:format("~w~n", [{S1, P1 =:= Map#{7 := new}, U1 =:= P1, maps:size(R1), element(1, change(Map, 0, x))}]),
    io:format("~w~n", [[from_arrays(L) || L <- [[], [{b, 1}, {a, 2}], [{a, 1}, {a, 2}], [{1, a}, {1.0, b}]]]]),
    io:format("~w~n", [from_arrays([{I, I} || I <- lists:seq(100, 1, -1)]) =:= maps:from_list([{I, I} || I <- lists:seq(1, 100)])]),
    [begin
         {{T, T}, "again", 1} = through(T),
         {{T, T}, "again", 1} = through_dirty(T)
     end || T <- Terms],
    io:format("done~n").

%% Hashes of what prints differently from run to run are not compared.
mask(T) when is_function(T) -> a_fun;
mask(T) -> T.
mask_all(L) -> [case P of {copy, F} when is_function(F) -> {copy, a_fun};
                          {phash2, _} when is_list(L) -> case lists:keyfind(copy, 1, L) of
                                                             {copy, F} when is_function(F) -> {phash2, masked};
                                                             _ -> P
                                                         end;
                          {reversed, _} -> P;
                          _ -> P end || P <- L].
