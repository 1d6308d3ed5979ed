%% phash2 and term_to_binary of many kinds of terms.
-module(b_phash).
-define(REPEAT, 110).
-include("bench.hrl").

once() ->
    Ts = [{N, integer_to_list(N), <<N:64>>, N / 3, #{n => N, "k" => [N]}, [a, b, {c, N}]}
          || N <- lists:seq(1, 3000)],
    {lists:sum([erlang:phash2(T) || T <- Ts]), erlang:phash2(Ts), byte_size(term_to_binary(Ts)),
     binary_to_term(term_to_binary(Ts)) =:= Ts}.
