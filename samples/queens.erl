%% How many ways are there to place N queens on a board of N by N so that none attacks another?
%%
%%     minivm run queens.beam          8 queens: 92 ways
%%     minivm run queens.beam 11       2680 ways
%%
%% Each square of the first row is searched by a process of its own, so the work spreads over all
%% cores. The answers come back in any order; each carries the column it belongs to.
-module(queens).
-export([main/1]).

main([]) -> main(["8"]);
main([Text | _]) ->
    N = list_to_integer(Text),
    Main = self(),
    Columns = lists:seq(1, N),
    [spawn_link(fun() -> Main ! {column, C, solutions(N, [C])} end) || C <- Columns],
    Found = [receive {column, C, Boards} -> Boards end || C <- Columns],
    [io:format("first queen on ~2b: ~b~n", [C, length(B)]) || {C, B} <- lists:zip(Columns, Found)],
    All = lists:append(Found),
    io:format("~b queens, ~b ways~n", [N, length(All)]),
    draw(N, All).

%% A board is the list of the columns of its queens, the last row placed first.
solutions(N, Board) when length(Board) =:= N ->
    [Board];
solutions(N, Board) ->
    [Full || Column <- lists:seq(1, N),
             safe(Column, 1, Board),
             Full <- solutions(N, [Column | Board])].

%% Distance is how many rows lie between the new queen and the one looked at.
safe(_Column, _Distance, []) ->
    true;
safe(Column, Distance, [Other | Rest]) ->
    Column =/= Other
        andalso abs(Column - Other) =/= Distance
        andalso safe(Column, Distance + 1, Rest).

draw(_N, []) ->
    ok;
draw(N, [Board | _]) ->
    [io:format("~s~n", [[square(Column =:= Queen) || Column <- lists:seq(1, N)]])
     || Queen <- lists:reverse(Board)],
    ok.

square(true) -> " Q";
square(false) -> " .".
