%% needs: /usr/lib/erlang/lib/jiffy-*/priv/jiffy.so
%% A library of others: JSON by jiffy, which yields in the middle of long work.
-module(nif_jiffy).
-export([start/0]).

start() ->
    [io:format("~w~n", [catch jiffy:decode(J)])
     || J <- [<<"{\"a\":[1,2.5,-3,1e10,true,false,null,\"\\u00e9x\"]}">>, <<"[]">>, <<"{}">>,
              <<"123456789012345678901234567890">>, <<"\"\\ud83d\\ude00\"">>, <<"  [ 1 , 2 ] ">>,
              <<"{\"a\":1,\"a\":2}">>]],
    [io:format("~w~n", [element(1, element(2, catch jiffy:decode(J)))])
     || J <- [<<"[1,">>, <<>>, <<"nul">>, <<"\"", 255, "\"">>, <<"[1] x">>, atom]],
    [io:format("~w~n", [jiffy:decode(J, [return_maps])])
     || J <- [<<"{\"a\":{\"b\":1}}">>, <<"{\"a\":1,\"b\":[{}]}">>]],
    [io:format("~w~n", [iolist_to_binary(jiffy:encode(J))])
     || J <- [[1, 2, 3], {[{<<"a">>, 1}, {b, 1.5}]}, #{x => [true, false, null]},
              <<"\303\251\"\n">>, 1 bsl 100, self, 0, -1, 0.1]],
    [io:format("~w~n", [element(1, element(2, catch jiffy:encode(J)))])
     || J <- [{a, b}, {[{1.5, 2}]}, <<255>>]],
    Big = lists:seq(1, 200000),
    Json = iolist_to_binary(jiffy:encode(Big)),
    io:format("~w ~w~n", [byte_size(Json), jiffy:decode(Json) =:= Big]),
    Deep = lists:foldl(fun(N, A) -> #{integer_to_binary(N) => A} end, end_of_it, lists:seq(1, 2000)),
    Text = iolist_to_binary(jiffy:encode(Deep)),
    io:format("~w ~w~n", [erlang:md5(Text), iolist_to_binary(jiffy:encode(jiffy:decode(Text, [return_maps])))
                          =:= Text]),
    io:format("~s~n", [jiffy:encode(#{<<"a">> => [1, #{}]}, [pretty])]).
