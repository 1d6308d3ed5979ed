-module(modules_engine_player).
-export([start/2]).

start(Mark, How) -> spawn(fun() -> loop(Mark, How) end).

loop(Mark, How) ->
    receive
        {move, From, Board} -> From ! {move, self(), choose(How, Mark, Board)}, loop(Mark, How);
        stop -> ok
    end.

choose(first, _, Board) -> hd(modules_engine_board:free(Board));
choose(best, Mark, Board) ->
    Rated = [begin {ok, B} = modules_engine_board:put(Board, I, Mark),
                 {-modules_engine_rules:score(B, Mark, modules_engine_rules:other(Mark)), I} end
             || I <- modules_engine_board:free(Board)],
    element(2, lists:min(Rated)).
