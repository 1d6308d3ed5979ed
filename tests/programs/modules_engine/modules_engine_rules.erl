-module(modules_engine_rules).
-export([result/1, other/1, count/2, score/3]).

result(B) ->
    Lines = [{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {1, 4, 7}, {2, 5, 8}, {3, 6, 9}, {1, 5, 9},
             {3, 5, 7}],
    case [element(I, B) || {I, J, K} <- Lines, element(I, B) =/= '.',
          element(I, B) =:= element(J, B), element(J, B) =:= element(K, B)] of
        [M | _] -> {won, M};
        [] -> case modules_engine_board:free(B) of [] -> draw; _ -> open end
    end.

other(x) -> o;
other(o) -> x.

%% how many finished games there are from here
count(B, M) ->
    case result(B) of
        open -> lists:sum([begin {ok, B1} = modules_engine_board:put(B, I, M),
                               count(B1, other(M)) end || I <- modules_engine_board:free(B)]);
        _ -> 1
    end.

score(B, Me, Turn) ->
    case result(B) of
        {won, Me} -> 1;
        {won, _} -> -1;
        draw -> 0;
        open ->
            Scores = [begin {ok, B1} = modules_engine_board:put(B, I, Turn),
                          score(B1, Me, other(Turn)) end || I <- modules_engine_board:free(B)],
            case Turn of Me -> lists:max(Scores); _ -> lists:min(Scores) end
    end.
