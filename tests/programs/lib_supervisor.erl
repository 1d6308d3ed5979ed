%% supervisor and gen_event of the stock stdlib.
-module(lib_supervisor).
-behaviour(supervisor).
-export([main/1, init/1, start_worker/2, handle_event/2, handle_call/2]).

main(_) ->
    process_flag(trap_exit, true),
    {ok, S} = supervisor:start_link(?MODULE, {sup, self()}),
    io:format("~p~n", [lists:sort([receive {started, N} -> N end || _ <- [1, 2]])]),
    io:format("~p~n", [lists:sort([{Id, T, M} || {Id, _, T, M} <- supervisor:which_children(S)])]),
    worker_a ! crash,
    io:format("~p~n", [receive {started, N} -> N end]),
    io:format("~p~n", [lists:sort(supervisor:count_children(S))]),
    {ok, _} = supervisor:start_child(S,
                                     #{id => c, start => {?MODULE, start_worker,
                                                          [worker_c, self()]}}),
    io:format("~p~n", [receive {started, N2} -> N2 end]),
    io:format("~p~n", [[supervisor:terminate_child(S, c), supervisor:delete_child(S, c),
                        supervisor:terminate_child(S, zz)]]),
    exit(S, shutdown),
    io:format("~p~n", [receive {'EXIT', S, Why} -> Why end]),
    io:format("~p~n", [[whereis(worker_a), whereis(worker_b)]]),
    {ok, E} = gen_event:start_link(),
    ok = gen_event:add_handler(E, ?MODULE, {event, 0}),
    [gen_event:notify(E, {add, N3}) || N3 <- [1, 2, 3]],
    io:format("~p~n", [gen_event:call(E, ?MODULE, get)]),
    io:format("~p~n", [gen_event:which_handlers(E)]),
    gen_event:stop(E).

init({event, N}) -> {ok, N};
init({sup, Main}) -> {ok, {#{strategy => one_for_one, intensity => 3, period => 10},
                           [#{id => Id, start => {?MODULE, start_worker, [Name, Main]}}
                            || {Id, Name} <- [{a, worker_a}, {b, worker_b}]]}}.
start_worker(Name, Main) -> P = spawn_link(fun() -> register(Name, self()), Main ! {started, Name},
                                               receive crash -> exit(shutdown) end end), {ok, P}.
handle_event({add, X}, N) -> {ok, N + X}.
handle_call(get, N) -> {ok, N, N}.
