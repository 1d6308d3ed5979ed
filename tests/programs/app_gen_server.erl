%% gen_server and gen_statem of the stock stdlib: calls, casts, info, timeouts, stop, names.
-module(app_gen_server).
-behaviour(gen_server).
-export([main/1, init/1, handle_call/3, handle_cast/2, handle_info/2, handle_continue/2,
         terminate/2]).

main(_) ->
    {ok, P} = gen_server:start_link(?MODULE, 10, []),
    io:format("~p~n", [gen_server:call(P, get)]),
    ok = gen_server:cast(P, {add, 5}), P ! {add, 7},
    io:format("~p~n", [gen_server:call(P, get)]),
    io:format("~p~n", [gen_server:call(P, later)]),
    io:format("~p~n", [[gen_server:call(P, {add_and_get, N}) || N <- lists:seq(1, 5)]]),
    io:format("~p~n",
              [try gen_server:call(P, never, 20) catch exit:{timeout,
                                                             {gen_server, call, [_, never, 20]}} ->
                   timed_out end]),
    io:format("~p~n", [gen_server:call(P, {continue, self()})]),
    io:format("~p~n", [receive continued -> continued end]),
    {ok, N} = gen_server:start({local, named}, ?MODULE, 0, []),
    {error, {already_started, N}} = gen_server:start({local, named}, ?MODULE, 0, []),
    io:format("~p~n", [gen_server:call(named, get)]),
    io:format("~p~n", [gen_server:stop(named)]),
    io:format("~p~n", [try gen_server:call(named, get) catch exit:{noproc, _} -> noproc end]),
    R = monitor(process, P),
    io:format("~p~n", [gen_server:call(P, stop)]),
    io:format("~p~n", [receive {'DOWN', R, _, _, Why} -> Why end]),
    io:format("~p~n", [gen_server:start(?MODULE, ignore_me, [])]),
    io:format("~p~n", [gen_server:start(?MODULE, {stop, reason}, [])]),
    {ok, Q} = gen_server:start(?MODULE, 1, []),
    Req = gen_server:send_request(Q, get),
    io:format("~p~n", [gen_server:wait_response(Req, 1000)]),
    io:format("~p~n", [sys:get_state(Q)]),
    sys:replace_state(Q, fun(S) -> S + 100 end),
    io:format("~p~n", [gen_server:call(Q, get)]),
    gen_server:stop(Q).

init(ignore_me) -> ignore;
init({stop, R}) -> {stop, R};
init(N) -> {ok, N}.
handle_call(get, _, S) -> {reply, S, S};
handle_call(later, From, S) -> spawn(fun() -> gen_server:reply(From, {later, S}) end), {noreply, S};
handle_call({add_and_get, N}, _, S) -> {reply, S + N, S + N};
handle_call(never, _, S) -> {noreply, S};
handle_call({continue, P}, _, S) -> {reply, ok, S, {continue, P}};
handle_call(stop, _, S) -> {stop, normal, stopping, S}.
handle_cast({add, N}, S) -> {noreply, S + N}.
handle_info({add, N}, S) -> {noreply, S + N};
handle_info(_, S) -> {noreply, S}.
handle_continue(P, S) -> P ! continued, {noreply, S}.
terminate(_, _) -> ok.
