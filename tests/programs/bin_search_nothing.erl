%% Searching in no bytes: the pattern is not looked at. What ends the list of options is not looked at.
-module(bin_search_nothing).
-export([start/0]).

start() ->
    Nothing = [{<<>>, []}, {<<>>, [{scope, {0, 0}}]}, {<<"abc">>, [{scope, {0, 0}}]},
               {<<"abc">>, [{scope, {3, 0}}]}, {<<"abc">>, [{scope, {3, -0}}]},
               {<<>>, [{scope, {1, 0}}]}, {<<>>, none}, {<<>>, [none]}, {<<>>, [{scope, {0, 0}} | none]},
               {<<1:1>>, []}, {"", []}],
    [show(F, [Subject, Pattern, Options])
     || F <- [match, matches, split], {Subject, Options} <- Nothing,
        Pattern <- [<<>>, [], [<<>>], foo, <<"a">>, {bm, x}, <<1:1>>]],
    [show(F, [<<"abcabc">>, <<"b">>, Options])
     || F <- [match, matches, split, replace],
        Options <- [[{scope, {0, 3}} | foo], [global | foo], [trim | foo], [foo | foo], foo, []]],
    [show(split, [<<>>, [], [Trim]]) || Trim <- [trim, trim_all, global]],
    [show(F, [<<>>, foo]) || F <- [match, matches, split]],
    show(replace, [<<>>, foo, <<"x">>]).

show(replace, [Subject, Pattern, Options]) ->
    show(replace, [Subject, Pattern, <<"x">>, Options]);
show(F, Arguments) ->
    Result = try apply(binary, F, Arguments) catch error:Reason -> Reason end,
    io:format("~p~0p: ~0p~n", [F, Arguments, Result]).
