%% The compiler knows that is_map_key of a map cannot fail, and reads its result on the way of its
%% failure as well: the register was said to hold no term, and the module was refused.
-module(guard_bif_result_after_failure).
-export([main/1]).

main(_) ->
    Maps = [#{abc => 0, def => 1}, #{abc => 0, mno => 1}, #{jkl => 1}, #{jkl => 1, def => 2},
            #{def => 1}, #{}],
    io:format("~p~n", [[of_map(M) || M <- Maps]]).

of_map(#{} = M) ->
    case case A = is_map_key(abc, M) of
             false -> false;
             _ -> is_map_key(def, M)
         end of
        true -> {abc, def};
        false ->
            case case J = is_map_key(jkl, M) of
                     false -> false;
                     _ -> is_map_key(def, M)
                 end of
                true -> {jkl, def};
                false ->
                    case case A of
                             false -> false;
                             _ -> is_map_key(mno, M)
                         end of
                        true -> {abc, mno};
                        false when J -> jkl;
                        false -> none
                    end
            end
    end.
