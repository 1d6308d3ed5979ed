%% A game engine in four modules: state, rules, two players as processes; tic-tac-toe to the end.
-module(modules_engine).
-export([main/1]).

main(_) ->
    A = modules_engine_player:start(x, best), B = modules_engine_player:start(o, best),
    io:format("~p~n", [game(modules_engine_board:new(), {A, x}, {B, o}, 0)]),
    C = modules_engine_player:start(o, first),
    io:format("~p~n", [game(modules_engine_board:new(), {A, x}, {C, o}, 0)]),
    [P ! stop || P <- [A, B, C]],
    io:format("~p~n", [modules_engine_rules:count(modules_engine_board:new(), x)]).

game(Board, {P, Mark}, Other, Turn) ->
    io:format("~s~n", [modules_engine_board:show(Board)]),
    case modules_engine_rules:result(Board) of
        open ->
            P ! {move, self(), Board},
            receive {move, P, Cell} -> {ok, B1} = modules_engine_board:put(Board, Cell, Mark),
                game(B1, Other, {P, Mark}, Turn + 1) end;
        R -> {R, Turn}
    end.
