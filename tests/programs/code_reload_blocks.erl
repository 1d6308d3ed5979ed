%% Reloads and purges give back all the native code they made, to the byte: memory for code once kept the
%% last bytes of each block, so no hole fitted the next version of the same module. Argument: loads.
-module(code_reload_blocks).
-export([main/1]).

main([]) -> main(["300"]);
main([Arg]) ->
    logger:set_primary_config(level, none),
    N = list_to_integer(Arg),
    M = code_reload_blocks_m,
    Set = list_to_tuple([version(M, V) || V <- lists:seq(1, 7)]),
    reload(M, Set, 20),
    gone(M),
    First = settled(usage(), 3),
    reload(M, Set, N),
    gone(M),
    Second = settled(usage(), 3),
    io:format("~w~n", [same(First, Second)]).

%% Versions of different sizes, none a multiple of anything.
version(M, V) ->
    L = erl_anno:new(1),
    Body = [{tuple, L, [{integer, L, I}, {var, L, 'X'}]} || I <- lists:seq(1, 3 * V + 1)],
    Forms = [{attribute, L, module, M}, {attribute, L, export, [{f, 1}, {wait, 0}]},
             {function, L, f, 1, [{clause, L, [{var, L, 'X'}], [], [{tuple, L, [{integer, L, V} | Body]}]}]},
             {function, L, wait, 0, [{clause, L, [], [],
                 [{'receive', L, [{clause, L, [{atom, L, go}], [], [{integer, L, V}]}]}]}]}],
    {ok, M, Bin} = compile:forms(Forms),
    Bin.

reload(_, _, 0) -> ok;
reload(M, Set, N) ->
    V = N rem tuple_size(Set) + 1,
    {module, M} = code:load_binary(M, "m", element(V, Set)),
    V = element(1, M:f(x)),
    _ = N rem 3 =:= 0 andalso spawn(fun() -> M:wait() end),
    reload(M, Set, N - 1).

gone(M) ->
    code:purge(M),
    true = code:delete(M),
    code:purge(M),
    false = code:is_loaded(M).

usage() ->
    case erlang:function_exported(minivm, code_memory, 0) of
        true -> minivm:code_memory();
        false -> {0, 0, 0}
    end.

%% Code is freed in the background, soon after the purge.
settled(Usage, 0) -> Usage;
settled(Usage, Times) ->
    timer:sleep(30),
    case usage() of
        Usage -> settled(Usage, Times - 1);
        Other -> settled(Other, 3)
    end.

%% Pages: where the others lie may shift by one.
same({Blocks, Bytes, P1}, {Blocks, Bytes, P2}) when abs(P1 - P2) =< 8192 -> true;
same(First, Second) -> {First, Second}.
