%% ~p of long and deep terms: where lines break, indentation, widths, records by name.
-module(io_pretty).
-export([main/1]).

main(_) ->
    L = [{item, I, "name " ++ integer_to_list(I), [{a, I}, {b, I * 2}]} || I <- lists:seq(1, 12)],
    io:format("~p~n", [L]),
    io:format("prefix: ~p~n", [L]),
    io:format("~p~n", [lists:seq(1, 200)]),
    io:format("~p~n", [list_to_tuple(L)]),
    io:format("~p~n", [#{list => lists:seq(1, 40), map => #{inner => L}, name => "a string", bin => binary:copy(<<"long binary ">>, 20)}]),
    io:format("~p~n", [lists:duplicate(10, "a string of some length")]),
    io:format("~p~n", ["a very long string that has to be broken over several lines because it does not fit in eighty columns of text, really"]),
    io:format("~p~n", [<<"a very long binary that has to be broken over several lines because it does not fit in eighty columns of text">>]),
    io:format("~p~n", [{a, {b, {c, {d, {e, {f, {g, {h, lists:seq(1, 30)}}}}}}}}]),
    io:format("~p~n", [[[[[[[[[[[lists:seq(1, 40)]]]]]]]]]]]),
    io:format("~p~n", [[1 bsl 200, 1 bsl 300, 'a long quoted atom that takes some space', 1.0e-200]]),
    io:format("~30p~n", [L]),
    io:format("~120p~n", [lists:sublist(L, 4)]),
    io:format("~80.20p~n", [lists:sublist(L, 4)]),
    io:format("~1p~n", [{a, [b, {c, d}], "str", <<"bin">>}]),
    io:format("~P~n", [L, 20]),
    io:format("~P~n", [L, 50]),
    io:format("~W~n", [L, 30]),
    Def = fun(point, 2) -> [x, y]; (_, _) -> no end,
    io:format("~s~n", [io_lib_pretty:print([{point, 1, 2}, {point, 1}, {other, 1, 2}], Def)]),
    io:format("~s~n", [io_lib_pretty:print({point, lists:seq(1, 50), "string"}, Def)]),
    io:format("~p~n", [{[], {}, #{}, <<>>, "", [[]], [{}]}]),
    io:format("~p~n", [[a | b]]),
    io:format("~p~n", [lists:seq(1, 50) ++ tail]),
    io:format("~p~n", [[<<1:1>>, <<1, 2, 3:5>>, <<0, 1, 2>>, <<"text">>, <<"mixed", 0>>]]),
    io:format("~p~n", [["mixed", 1, [1, 2, 3], "tab\there", [0], [127], [128], [255], [160]]]),
    io:format("~tp~n", [["åäö", "日本語", <<"åäö"/utf8>>, <<"日本"/utf8>>, 'åäö', '日本']]),
    io:format("~p~n", [["åäö", "日本語", <<"åäö"/utf8>>, <<"日本"/utf8>>, 'åäö', '日本']]).
