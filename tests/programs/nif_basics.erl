%% A native library replaces functions, however they are called, and their errors look as OTP's do.
-module(nif_basics).
-export([start/0, add/2, add_cpu/2, add_io/2, zero/0, raise/1, raise_cpu/1, many/2, recurse/1]).

add(_, _) -> erlang:nif_error(not_loaded).
add_cpu(_, _) -> erlang:nif_error(not_loaded).
add_io(_, _) -> erlang:nif_error(not_loaded, [some, arguments]).
zero() -> erlang:nif_error(not_loaded).
raise(_) -> erlang:nif_error(not_loaded).
raise_cpu(_) -> erlang:nif_error(not_loaded).
many(_, _) -> erlang:nif_error(not_loaded).
local(_) -> erlang:nif_error(not_loaded).

start() ->
    show(before, fun() -> add(1, 2) end),
    show(before, fun() -> add_io(1, 2) end),
    Before = fun add/2,
    Load = load_nif,
    io:format("~p~n", [erlang:Load("whatever", 0)]),
    io:format("~p~n", [module_info(nifs)]),
    io:format("~p~n", [erlang:load_nif(filename:join(os:getenv("PROGRAM_DIR"), "nif_basics"), 0)]),
    io:format("~p~n", [lists:sort(module_info(nifs))]),
    io:format("~p~n", [[add(1, 2), ?MODULE:add(3, 4), apply(?MODULE, add, [5, 6]), Before(7, 8),
                        (fun ?MODULE:add/2)(9, 10), add_cpu(11, 12), add_io(13, 14), zero(),
                        lists:foldl(fun add/2, 0, lists:seq(1, 1000)),
                        lists:foldl(fun ?MODULE:add_cpu/2, 0, lists:seq(1, 100))]]),
    [show(F, F) || F <- [fun() -> {add(a, 2)} end, fun() -> {?MODULE:add(1, b)} end,
                         fun() -> {add_cpu(a, 2)} end, fun() -> add_io(1, b) end,
                         fun() -> {raise({any, "term", 1.5})} end, fun() -> {raise_cpu(reason)} end,
                         fun() -> {local([])} end]],
    {'EXIT', {Thing, [Raised | _]}} = (catch raise(thing)),
    io:format("~p ~p~n", [Thing, Raised]),
    %% From tail position, from deep recursion, and with collections in between.
    io:format("~p~n", [recurse(10000)]),
    Many = many(100000, {some, <<"term">>}),
    true = erlang:garbage_collect(),
    io:format("~p ~p~n", [length(Many), lists:all(fun({N, T}) -> is_integer(N) andalso
                                                          T =:= {some, <<"term">>} end, Many)]),
    io:format("~p~n", [lists:sum([length(many(N, N)) || N <- lists:seq(1, 500)])]),
    %% Many processes at once.
    Parent = self(),
    Pids = [spawn_link(fun() -> Parent ! {self(), lists:sum([add_cpu(N, I) || I <- lists:seq(1, 50)]),
                                          lists:sum([add(N, I) || I <- lists:seq(1, 2000)])} end)
            || N <- lists:seq(1, 20)],
    io:format("~p~n", [[receive {P, A, B} -> {A, B} end || P <- Pids]]),
    io:format("~p~n", [erlang:load_nif("again", 0)]),
    {_, Ref} = spawn_monitor(fun() -> raise(exits) end),
    receive {'DOWN', Ref, _, _, {Reason, [Top | _]}} -> io:format("~p ~p~n", [Reason, Top]) end.

recurse(0) -> add(0, 0);
recurse(N) -> add(1, recurse(N - 1)).

show(_, F) ->
    try io:format("~p~n", [F()])
    catch C:R:Trace ->
            [Top, Next | _] = Trace,
            io:format("~p~n", [{C, R, Top, element(2, Next)}])
    end.
