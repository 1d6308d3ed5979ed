%% erlang:display/1 goes to standard output, past the I/O server and as long as the term is; display_string/1 and
%% display_nl/0 to standard error. Nothing here uses the I/O server: what it writes may come before or after.
-module(io_display).
-export([main/1]).

main(_) ->
    [erlang:display({C, list_to_atom([C])}) || C <- lists:seq(0,300)],
    [erlang:display({C, list_to_atom([$a,C])}) || C <- lists:seq(0,300)],
    [erlang:display({C, [C]}) || C <- lists:seq(0,300)],
    [erlang:display({C, <<C>>}) || C <- lists:seq(0,255)],
    [erlang:display({C, <<C,255>>}) || C <- lists:seq(0,255)],
    [erlang:display(X) || X <-
        [1.0e22, 1.0e21,-1.0e-7,0.1,0.0,-0.0, 1.0e100, fun erlang:'+'/2, fun 'A b':'c d'/3,
         [a|<<"x">>], "", [[],[]], {}, #{"a"=>"b", 1=>2.0, c=>#{}}, <<5:3>>,
         <<"ab",5:3>>, <<"ab",0:8>>, [a,b|c], [$a|b], [$a,$b|$c], 1 bsl 64, -(1 bsl 59),
         list_to_pid("<0.5.0>"), list_to_port("#Port<0.3>"), 'receive', 'maybe', a1, 'a.b', 'ab@', '_', 'a-b',
         "\e\d\b", [11], [12], [8], [7], 'a\e', <<"a\"b\\c'">>, "a\"b\\c'",  [{a,"b"}], <<"a\n">>, "a\r\t\v"]],
    D = lists:foldl(fun(_, A) -> [A] end, [], lists:seq(1,100)), erlang:display(D),
    T = lists:foldl(fun(_, A) -> {A,b} end, [], lists:seq(1,100)), erlang:display(T),
    erlang:display(lists:seq(1,30000)),
    erlang:display(list_to_binary(lists:duplicate(100000,$a))),
    erlang:display(lists:duplicate(100000,$a)),
    erlang:display(maps:from_list([{X,X}||X<-lists:seq(1,32)])),
    erlang:display([{a, "x" ++ [C]} || C <- lists:seq(1, 300, 7)]),
    erlang:display([try erlang:display_string(X) catch error:E -> E end || X <- [foo, <<"abc">>, [1114112], [16#D800], [a], "x" ++ y]]),
    erlang:display([erlang:display_string("t\x{f8}xt \x{4d3}\n"), erlang:display_nl(), erlang:display_string("")]),
    erlang:display(erts_debug:display({1, "two", [3.0]})).
