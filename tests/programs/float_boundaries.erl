%% Doubles around the edges of the self-tagged range (2^-255 .. 2^257), denormals and the largest.
-module(float_boundaries).
-export([main/1, id/1]).

main(_) ->
    Exps = [-1074, -1073, -1023, -1022, -1021, -769, -768, -767, -766, -513, -512, -511, -257, -256,
            -255, -254,
            -129, -128, -1, 0, 1, 52, 53, 63, 64, 127, 128, 254, 255, 256, 257, 258, 259, 511, 512,
            513, 767,
            768, 769, 1022, 1023],
    Fs = lists:usort(lists:append([around(pow2(E)) || E <- Exps])),
    All = Fs ++ [-F || F <- Fs],
    io:format("~p~n", [length(All)]),
    [begin
         true = is_float(F), true = is_number(F), false = is_integer(F),
         <<B:64>> = <<F/float>>,
         <<G/float>> = id(<<B:64>>),
         true = F =:= G, true = F == G, {F} = {G}, [F] = [G],
         true = erlang:phash2(F) =:= erlang:phash2(G),
         F = binary_to_term(term_to_binary(F)),
         F = list_to_float(float_to_list(F, [short])),
         F = -(-F), F = F * 1.0, F = F + 0.0, F = abs(F) * sign(F),
         #{G := v} = #{F => v}
     end || F <- All],
    [io:format("~w ~.16B~n", [F, bits(F)]) || F <- All],
    true = lists:sort(All) =:= lists:sort(lists:reverse(All)),
    io:format("~p~n", [erlang:phash2([erlang:phash2(F) || F <- lists:sort(All)])]),
    %% crossing the edges by arithmetic
    io:format("~p~n", [walk(1.0, 2.0, 300)]),
    io:format("~p~n", [walk(1.0, 0.5, 300)]),
    io:format("~p~n", [walk(1.0, 0.5, 1080)]),
    {A, B} = send_through(id(pow2(-256)), id(pow2(257) * 1.5)),
    io:format("~p ~p~n", [A, B]).

around(F) ->
    <<B:64>> = <<F/float>>,
    [G || D <- [-1, 0, 1], B + D > 0, (B + D) bsr 52 < 2047, <<G/float>> <- [<<(B + D):64>>]].

pow2(E) when E >= -1022 -> <<F/float>> = <<((E + 1023) bsl 52):64>>, F;
pow2(E) -> <<F/float>> = <<(1 bsl (E + 1074)):64>>, F.

bits(F) -> <<B:64>> = <<F/float>>, B.
sign(F) when F < 0 -> -1;
sign(_) -> 1.

walk(F, _, 0) -> F;
walk(F, M, N) -> walk(F * M, M, N - 1).

send_through(A, B) ->
    self() ! {msg, A, B},
    receive {msg, A, B} -> {A, B} end.

id(X) -> X.
