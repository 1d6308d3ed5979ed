%% What OTP's own code asks of tables: erts_internal:ets_*, behind ets:info(Table, binary) of later releases.
-module(ets_for_the_library).
-export([main/1]).

main(_) ->
    Large = binary:copy(<<1>>, 100),
    Other = binary:copy(<<2>>, 1000),
    [begin
         T = ets:new(t, [Type | Options]),
         show(T, ets_raw_first, [T]),
         ets:insert(T, [{x, 1, Large}, {1, {Large, Large}}, {y, Other}]),
         Keys = keys(T, erts_internal:ets_raw_first(T)),
         io:format("~p ~p~n", [Type, lists:sort(Keys)]),
         [show(T, ets_raw_next, [T, K]) || K <- [unknown, zz]],
         [show(T, ets_lookup_binary_info, [T, K]) || K <- [x, 1, 1.0, y, unknown]],
         ets:delete(T)
     end || Type <- [set, bag, duplicate_bag, ordered_set], Options <- [[], [compressed]]],
    [show(none, F, As) || {F, As} <- [{ets_raw_first, [foo]}, {ets_raw_first, [1]}, {ets_raw_next, [foo, 1]},
                                      {ets_raw_next, [1, 1]}, {ets_lookup_binary_info, [foo, 1]}, {ets_super_user, [foo]}]],
    %% A super user reads and writes what is private to others.
    Self = self(),
    Owner = spawn(fun() ->
                      ets:new(private, [private, named_table]),
                      ets:new(protected, [protected, named_table]),
                      Self ! made,
                      receive stop -> ok end
                  end),
    receive made -> ok end,
    Try = fun() -> [try ets:insert(private, {a, 1}), ets:insert(protected, {a, 1}), ets:lookup(private, a)
                    catch error:badarg -> badarg end] end,
    io:format("~p~n", [[Try(), erts_internal:ets_super_user(true), Try(), erts_internal:ets_super_user(false), Try(),
                        erts_internal:ets_super_user(false)]]),
    Owner ! stop,
    %% What else counts locks, shows maps and tells of allocators: not here.
    [io:format("~p ~p~n", [F, try apply(erts_debug, F, As) catch C:E -> {C, E} end])
     || {F, As} <- [{lcnt_clear, []}, {lcnt_collect, []}, {lcnt_control, [mask]}, {lcnt_control, [copy_save]},
                    {map_info, [1]}, {map_info, [#{}]}]],
    io:format("~p~n", [[{element(1, I), tuple_size(I)}
                        || I <- erts_debug:map_info(maps:from_list([{N, N} || N <- lists:seq(1, 100)]))]]),
    [io:format("~w ~p~n", [B, try prim_file:internal_normalize_utf8(B) catch C:E -> {C, E} end])
     || B <- [<<"abc">>, <<>>, <<"a", 16#30A/utf8, "x", 16#301/utf8>>, <<16#1E69/utf8>>, <<255>>, foo, "abc", <<1:3>>,
              <<"s", 16#323/utf8, 16#307/utf8>>]].

keys(_, '$end_of_table') -> [];
keys(T, Key) -> [Key | keys(T, erts_internal:ets_raw_next(T, Key))].

show(T, F, As) ->
    Result = try apply(erts_internal, F, As) of
                 L when is_list(L) -> lists:sort([Bytes || {_, Bytes, _} <- L]);
                 R -> R
             catch
                 C:E:Stack ->
                     [{M, F1, _, Info} | _] = Stack,
                     {C, E, M, F1, proplists:get_value(error_info, Info)}
             end,
    io:format("~p~w -> ~p~n", [F, [A || A <- As, A =/= T], Result]).
