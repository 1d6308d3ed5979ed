%% The towers of Hanoi: move a pile of discs from the left post to the right one, one disc at a
%% time, never a larger disc on a smaller.
%%
%%     minivm run hanoi.beam          prints every move for 4 discs
%%     minivm run hanoi.beam 20       only counts: 2^20 - 1 moves
-module(hanoi).
-export([main/1]).

-define(DRAWN, 4).  % up to so many discs the moves are printed

main([]) -> main([integer_to_list(?DRAWN)]);
main([Text | _]) ->
    Discs = list_to_integer(Text),
    Moves = move(Discs, left, right, middle, Discs =< ?DRAWN),
    io:format("~b discs, ~b moves~n", [Discs, Moves]).

%% To move N discs: N-1 out of the way, the largest one to its place, N-1 on top of it.
move(0, _From, _To, _Spare, _Print) ->
    0;
move(N, From, To, Spare, Print) ->
    Before = move(N - 1, From, Spare, To, Print),
    show(Print, N, From, To),
    After = move(N - 1, Spare, To, From, Print),
    Before + 1 + After.

show(true, Disc, From, To) -> io:format("disc ~b: ~-6s -> ~s~n", [Disc, From, To]);
show(false, _, _, _) -> ok.
