%% Shifts to the right by as many bits as there are, and more.
-module(bsr_by_any_count).
-export([main/1]).

main(_) ->
    Numbers = [0, 1, -1, 46, -46, (1 bsl 58) - 1, -(1 bsl 58), (1 bsl 59) - 1, -(1 bsl 59), 1 bsl 60, -(1 bsl 60), 1 bsl 90, -(1 bsl 90)],
    Counts = [0, 1, 2, 31, 57, 58, 59, 60, 61, 62, 63, 64, 65, 100, 4157, 1 bsl 40, (1 bsl 59) - 1, -1, -2, -60],
    [io:format("~w~n", [[{C, shift(N, C), left(N, C)} || C <- Counts]]) || N <- Numbers],
    io:format("~w~n", [[const(C) || C <- Counts]]).

shift(N, C) -> N bsr C.
left(N, C) when C < 1000 -> N bsl C;
left(_, _) -> large.
const(C) -> {46 bsr C, -46 bsr C, -1 bsr C}.
