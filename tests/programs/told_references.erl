%% A magic reference that has gone through bytes or text leads to its object while that lives: atomics in a reply of rpc were badarg.
-module(told_references).
-export([start/0]).

start() ->
    A = atomics:new(2, []),
    atomics:put(A, 1, 7),
    {x, A2} = binary_to_term(term_to_binary({x, A})),
    io:format("~p ~p ~p~n", [atomics:get(A2, 1), A =:= A2, atomics:get(list_to_ref(ref_to_list(A)), 1)]),
    C = counters:new(1, [write_concurrency]),
    counters:add(C, 1, 3),
    M = ets:match_spec_compile([{'_', [], ['$_']}]),
    {ok, File} = file:open(code:which(?MODULE), [raw, read, binary]),
    Z = zlib:open(),
    io:format("~p ~p ~p ~p~n", [counters:get(again(C), 1), ets:match_spec_run([1], again(M)),
                                file:read(setelement(3, File, again(element(3, File))), 4), zlib:deflateInit(again(Z))]),
    %% Only the reference that was read keeps the object.
    Kept = kept(),
    garbage_collect(),
    io:format("~p~n", [atomics:get(Kept, 1)]),
    %% An object that is gone.
    Bytes = bytes(),
    garbage_collect(),
    io:format("~p~n", [try atomics:get(binary_to_term(Bytes), 1) catch Class:Reason -> {Class, Reason} end]),
    %% Told and given up by many at once: who reads them has the object or a plain reference.
    Self = self(),
    Loops = [spawn_link(fun() -> Self ! {done, again_and_again(2000, 0)} end) || _ <- lists:seq(1, 4)],
    io:format("~p~n", [[receive {done, N} -> N end || _ <- Loops]]),
    Shared = term_to_binary(atomics:new(1, [])),
    Readers = [spawn_link(fun() -> [binary_to_term(Shared) || _ <- lists:seq(1, 5000)], Self ! read end) || _ <- lists:seq(1, 4)],
    garbage_collect(),
    io:format("~p~n", [[receive read -> ok end || _ <- Readers]]).

%% The dictionary keeps T until its copy holds the object: a collection between the two calls gave that up.
again(T) ->
    put(told, T),
    Copy = binary_to_term(term_to_binary(T)),
    erase(told),
    Copy.

kept() ->
    A = atomics:new(1, []),
    atomics:put(A, 1, 42),
    again(A).

bytes() -> term_to_binary(atomics:new(1, [])).

again_and_again(0, Found) -> Found;
again_and_again(N, Found) ->
    A = atomics:new(1, [{signed, false}]),
    B = again(A),
    atomics:add(B, 1, N),
    again_and_again(N - 1, Found + min(1, atomics:get(A, 1))).
