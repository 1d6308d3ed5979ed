%% Small maps: get, update, match, as loop state.
-module(b_map_small).
-define(REPEAT, 13).
-include("bench.hrl").

once() -> loop(300000, #{count => 0, sum => 0, name => <<"n">>, last => none, 1 => x, {a, b} => 0}).

loop(0, M) -> {maps:get(sum, M), maps:get(count, M), maps:get({a, b}, M)};
loop(N, #{count := C, sum := S} = M) ->
    M1 = M#{count := C + 1, sum := S + N},
    M2 = case M1 of
             #{last := none} -> M1#{last := N};
             #{last := L} when L rem 2 =:= 0 -> M1#{{a, b} := maps:get(count, M1), last => N};
             _ -> M1#{last => N}
         end,
    loop(N - 1, M2).
