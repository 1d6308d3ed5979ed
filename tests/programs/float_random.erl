%% Random doubles from random bits: printing the shortest text, reading it, rounding, comparing.
-module(float_random).
-export([main/1]).

main(_) ->
    {H, _} = lists:foldl(fun(_, {H, S}) ->
        S1 = next(S), S2 = next(S1),
        case <<((S1 bsl 1) bxor (S2 bsr 30)):64>> of
            <<F/float>> -> check(F), {erlang:phash2({H, float_to_list(F, [short]), F}), S2};
            _ -> {H, S2}
        end end, {0, 99}, lists:seq(1, 3000)),
    io:format("~p~n", [H]),
    {H2, _} = lists:foldl(fun(_, {A, S}) ->
        S1 = next(S), F = ((S1 bsr 20) rem 20000000 - 10000000) / math:pow(10, (S1 bsr 50) rem 8),
        check(F),
        {erlang:phash2({A, round(F), trunc(F), float_to_list(F, [{decimals, 4}, compact]),
                        io_lib:format("~.3f ~10.2e ~g", [F, F, F])}), S1}
        end, {0, 5}, lists:seq(1, 2000)),
    io:format("~p~n", [H2]).

next(S) -> (S * 6364136223846793005 + 1442695040888963407) band 16#7FFFFFFFFFFFFFFF.

check(F) ->
    true = list_to_float(float_to_list(F, [short])) =:= F,
    true = list_to_float(float_to_list(F)) =:= F,
    true = list_to_float(lists:flatten(io_lib:format("~p", [F]))) =:= F,
    true = binary_to_term(term_to_binary(F)) =:= F,
    case abs(F) < 1.0e18 of
        true ->
            T = trunc(F), true = abs(T) =< abs(F), true = abs(F - T) < 1,
            true = floor(F) =< F, true = ceil(F) >= F, true = ceil(F) - floor(F) =< 1,
            true = abs(round(F) - F) =< 0.5;
        false -> true = float(trunc(F)) == F
    end.
