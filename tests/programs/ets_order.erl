%% The order of the objects of a hash table is OTP's: for keys whose hash has no number of this VM in it, and
%% for atoms; as the table grows, shrinks and is fixed, with and without write_concurrency, whole and in chunks.
-module(ets_order).
-export([main/1]).

main(_) ->
    [table(Type, Kind, N, Options) ||
        Type <- [set, bag, duplicate_bag], Kind <- [atom, small, binary, tuple], N <- [4, 25, 700],
        Options <- [[], [{write_concurrency, true}]]],
    [emptied(Options) || Options <- [[], [{write_concurrency, true}]]],
    counters(),
    Fruits = ets:new(fruits, [named_table]),
    ets:insert(Fruits, [{apple, 1}, {pear, 2}, {plum, 3}, {fig, 4}, {kiwi, 5}]),
    io:format("~p~n~p~n", [ets:tab2list(Fruits), ets:foldl(fun(X, Seen) -> [X | Seen] end, [], Fruits)]),
    [long_list(Type) || Type <- [set, bag, duplicate_bag]].

keys(atom, N) -> [list_to_atom("key" ++ integer_to_list(X)) || X <- lists:seq(1, N)];
keys(small, N) -> lists:seq(1, N);
keys(binary, N) -> [integer_to_binary(X * X) || X <- lists:seq(1, N)];
keys(tuple, N) -> [{X, [X], 1.0 * X} || X <- lists:seq(1, N)].

table(Type, Kind, N, Options) ->
    Keys = keys(Kind, N),
    T = ets:new(t, [Type, public | Options]),
    io:format("~w ~w ~w ~w~n", [Type, Kind, N, Options]),
    [ets:insert(T, {Key, 1}) || Key <- Keys],
    show(T),
    [ets:insert(T, {Key, 2}) || Key <- lists:sublist(Keys, N div 2)],
    [ets:insert(T, {Key, 1, 3}) || Key <- lists:sublist(Keys, N div 2)],
    show(T),
    [ets:delete(T, Key) || Key <- lists:sublist(Keys, N div 3 + 1, N div 2)],
    show(T),
    ets:safe_fixtable(T, true),
    [ets:delete(T, Key) || Key <- lists:sublist(Keys, N div 4 + 1, N div 4)],
    [ets:insert(T, {Key, 7}) || Key <- Keys],
    [ets:insert(T, {Key, more}) || Key <- keys(binary, N div 2)],
    show(T),
    ets:safe_fixtable(T, false),
    show(T),
    ets:select_delete(T, [{{'_', 7}, [], [true]}]),
    show(T),
    ets:delete(T).

%% A table shrinks only if it has been large.
emptied(Options) ->
    T = ets:new(t, [public | Options]),
    [ets:insert(T, {X}) || X <- lists:seq(1, 12000)],
    show(T),
    [ets:delete(T, X) || X <- lists:seq(1, 12000), X rem 7 =/= 0],
    show(T),
    [ets:insert(T, {X}) || X <- lists:seq(1, 3000)],
    show(T).

counters() ->
    T = ets:new(t, []),
    [ets:update_counter(T, X * X rem 101, 1, {new, 0}) || X <- lists:seq(1, 400)],
    show(T),
    [ets:take(T, X) || X <- lists:seq(1, 30)],
    ets:select_replace(T, [{{'$1', '$2'}, [], [{{'$1', {'+', '$2', 1}}}]}]),
    show(T).

%% OTP copies a long list before it begins, and has the last copy in front.
long_list(Type) ->
    T = ets:new(t, [Type]),
    ets:insert(T, [{a, 1}, {a, 2}, {b, 1}, {a, 3}]),
    ets:insert(T, [{c, 1}, {c, 2} | [{X} || X <- lists:seq(1, 60000)]]),
    io:format("~w ~w ~w~n", [Type, ets:lookup(T, a), ets:lookup(T, c)]),
    show(T).

show(T) ->
    All = ets:tab2list(T),
    case All of
        [_, _, _, _] -> io:format("  ~w~n", [All]);
        _ -> ok
    end,
    io:format("  ~w: ~w~n", [length(All), [erlang:phash2(Of) || Of <-
        [All, walked(T, ets:first(T)), ets:last(T), ets:foldl(fun(X, Seen) -> [X | Seen] end, [], T), ets:foldr(fun(X, Seen) -> [X | Seen] end, [], T),
         ets:match(T, {'$1', '_'}), ets:select(T, [{'_', [], ['$_']}]), ets:select_reverse(T, [{'_', [], ['$_']}]),
         chunks(ets:select(T, [{'_', [], ['$_']}], 1)), chunks(ets:select(T, [{'_', [], ['$_']}], 7)), chunks(ets:match_object(T, '_', 100)),
         chunks(ets:select(T, [{{5, '_'}, [], ['$_']}, {{6, '_'}, [], ['$_']}, {{key4, '_'}, [], ['$_']}], 1)),
         [ets:slot(T, I) || I <- lists:seq(0, 255)]]]]).

chunks('$end_of_table') -> [];
chunks({Objects, Continuation}) -> [Objects | chunks(ets:select(Continuation))].

walked(_, '$end_of_table') -> [];
walked(T, Key) -> [Key | walked(T, ets:next(T, Key))].
