%% Native records (OTP 29), printed without the help of a library that knows them. The compiled file stands
%% beside this one as text (native_records.beam.txt), so that it runs where no OTP 29 is.
-module(native_records).
-export([main/1]).

-record #point{x = 1, y = [a], z}.
-record #empty{}.
-record #own{v = 3}.
-record #defaults{i = -5, big = 123456789012345678901234567890, f = 1.5, m = #{a => b}, t = {}, n = []}.
-export_record([point, empty]).

main(_) ->
    A = #point{z = 2},
    show(tests, [is_record(A), is_record(A, point), is_record(A, ?MODULE, point), is_record(A, other, point),
                 is_record(A, own), is_tuple(A), is_map(A), is_record({point, 1}, point)]),
    show(elements, elements(id(A))),
    B = (id(A))#point{x = 7, y = nine},
    show(updated, {elements(B), B#point.x, B =:= A, B == id(B), A < B, B#point{x = 1, y = [a]} =:= A}),
    show(defaults, defaults(id(#defaults{}))),
    show(own, (id(#own{}))#own.v),
    show(order, [kind(T) || T <- lists:sort([#{}, {1}, B, A, #empty{}, #own{}, [], [1], <<1>>, 1, a])]),
    show(reader, [{records:get_module(R), records:get_name(R), records:get_field_names(R), records:is_exported(R)} ||
                     R <- [A, #empty{}, #own{}]]),
    show(get, [attempt(fun() -> records:get(F, A) end) || F <- [x, y, z, w, 1]]),
    show(definitions, [attempt(fun() -> records:get_definition(?MODULE, N) end) ||
                          N <- [point, empty, own, defaults, none, 1]]),
    show(create, [attempt(fun() -> elements(records:create(M, N, Fs, O)) end) ||
                     {M, N, Fs, O} <- [{?MODULE, point, [{x, 1}, {y, [a]}, {z, 2}], #{is_exported => true}},
                                       {?MODULE, point, [{x, 1}, {x, 2}], #{is_exported => true}},
                                       {?MODULE, point, [{1, 1}], #{is_exported => true}},
                                       {?MODULE, point, [x], #{is_exported => true}},
                                       {?MODULE, point, [{x, 1} | y], #{is_exported => true}},
                                       {?MODULE, point, [], #{is_exported => 'maybe'}},
                                       {?MODULE, point, [], #{}},
                                       {?MODULE, point, [], []},
                                       {?MODULE, 1, [], #{is_exported => true}}]]),
    show(same, records:create(?MODULE, point, [{x, 1}, {y, [a]}, {z, 2}], #{is_exported => true}) =:= A),
    show(not_same, [records:create(?MODULE, point, Fs, #{is_exported => E}) =:= A ||
                       {Fs, E} <- [{[{x, 1}, {z, 2}, {y, [a]}], true}, {[{x, 1}, {y, [a]}, {z, 2}], false},
                                   {[{x, 1}, {y, [a]}], true}]]),
    show(update, [attempt(fun() -> elements(records:update(R, M, N, Fs)) end) ||
                     {R, M, N, Fs} <- [{A, ?MODULE, point, #{x => 9}}, {A, x, '_', #{x => 9}}, {A, ?MODULE, point, #{}},
                                       {A, ?MODULE, other, #{x => 9}}, {A, ?MODULE, point, #{w => 9}},
                                       {a, ?MODULE, point, #{x => 9}}, {A, ?MODULE, point, []}]]),
    show(binary, [{term_to_binary(R), erlang:external_size(R), binary_to_term(term_to_binary(R)) =:= R} ||
                     R <- [A, B, #empty{}, #own{}, #defaults{}]]),
    show(malformed, [attempt(fun() -> binary_to_term(Bin) end) || Bin <- malformed(term_to_binary(A))]),
    show(hash, [erlang:phash2(R) || R <- [A, B, #empty{}, #own{}, [A, {B}]]]),
    show(errors, [attempt(F) || F <- errors(A)]),
    erlang:display([A, B, #empty{}, {#own{v = #empty{}}}]),
    show(sent, sent(B)),
    T = ets:new(t, [ordered_set]),
    ets:insert(T, [{A, 1}, {B, 2}, {#empty{}, 3}]),
    show(table, [V || {_, V} <- ets:tab2list(T)] ++ ets:lookup_element(T, id(B), 2)),
    persistent_term:put(record, B),
    show(persistent, persistent_term:get(record) =:= B),
    Many = [#point{x = I, z = {I}} || I <- lists:seq(1, 20000)],
    erlang:garbage_collect(),
    show(collected, lists:sum([X + Z || #point{x = X, z = {Z}} <- Many])),
    show(map, maps:get(B, #{A => 1, B => 2})),
    show(guard, [guard(R) || R <- [A, B, #empty{}, {point, 1}, a]]).

show(What, Term) -> io:format("~p: ~p~n", [What, Term]).

id(X) -> X.

elements(#point{x = X, y = Y, z = Z}) -> [X, Y, Z];
elements(Other) -> {no_point, records:get_name(Other)}.

defaults(#defaults{i = I, big = B, f = F, m = M, t = T, n = N}) -> [I, B, F, M, T, N].

kind(T) when is_record(T) -> records:get_name(T);
kind(T) -> T.

guard(R) when R#point.x =:= 7 -> seven;
guard(R) when is_record(R, point), R#point.x > 0 -> positive;
guard(#empty{}) -> empty;
guard(_) -> other.

attempt(F) ->
    try F() catch Class:Reason -> {Class, plain(Reason)} end.

%% A reason without records.
plain(T) when is_tuple(T) -> list_to_tuple([plain(E) || E <- tuple_to_list(T)]);
plain(T) when is_record(T) -> {a, records:get_name(T)};
plain(T) -> T.

errors(A) ->
    [fun() -> (id(#empty{}))#point.x end,
     fun() -> (id({point, 1}))#point.x end,
     fun() -> (id(#empty{}))#point{x = 1} end,
     fun() -> (id(a))#point{x = 1} end,
     fun() -> (id(A))#no_such:type{x = 1} end,
     fun() -> (id(A))#no_such:type.x end,
     fun() -> #no_such:type{x = 1} end,
     fun() -> #?MODULE:own{v = 1} end,
     fun() -> (#?MODULE:point{z = 1})#?MODULE:point.z end,
     fun() -> #?MODULE:point{w = 1} end,
     fun() -> #?MODULE:point{x = 1} end,
     fun() -> (id(A))#?MODULE:point.w end,
     fun() -> (id(A))#?MODULE:point{w = 2} end,
     fun() -> (id(#own{}))#?MODULE:own.v end,
     fun() -> elements(id(#own{})) end].

%% Each byte cut off, then what the head claims changed.
malformed(Bin) ->
    <<131, 67, N:32, Flags, Rest/binary>> = Bin,
    [binary:part(Bin, 0, L) || L <- lists:seq(1, byte_size(Bin) - 1)] ++
        [<<131, 67, (N + 1):32, Flags, Rest/binary>>, <<131, 67, -1:32, Flags, Rest/binary>>,
         <<131, 67, N:32, 2, Rest/binary>>, binary:replace(Bin, <<1, $z>>, <<1, $x>>)].

sent(R) ->
    Self = self(),
    Pid = spawn(fun() -> receive M -> Self ! {M, records:get_name(M)} end end),
    Pid ! R,
    receive {R, Name} -> Name end.
