%% A bank: a server that keeps accounts, clients that move money at the same time, a client that
%% crashes, and a supervisor, written by hand, that starts the server again when it dies.
%%
%%     minivm run bank.beam
%%
%% Look at how the supervisor learns of a death (a link and trap_exit), how a call survives the
%% death of the server (a monitor), and that no money is lost: the server hands its accounts to
%% the supervisor before anything can go wrong with a request.
-module(bank).
-export([main/1]).

-define(ACCOUNTS, [anna, bertil, cecilia, david]).
-define(START, 1000).

main(_) ->
    Main = self(),
    Supervisor = spawn_link(fun() -> supervisor(Main) end),
    wait_for(bank),
    [ok = call({open, Name, ?START}) || Name <- ?ACCOUNTS],
    io:format("~b accounts of ~b each~n", [length(?ACCOUNTS), ?START]),

    io:format("overdraw: ~p~n", [call({transfer, anna, bertil, 5000})]),
    io:format("no such account: ~p~n", [call({balance, nobody})]),

    %% Ten clients at once, each with transfers of its own, always the same ones.
    Clients = [spawn_monitor(fun() -> client(Seed, 100) end) || Seed <- lists:seq(1, 10)],
    Made = [receive {'DOWN', Ref, process, Pid, {transfers, N}} -> N end || {Pid, Ref} <- Clients],
    io:format("clients asked for ~b transfers~n", [lists:sum(Made)]),

    io:format("a request that kills the server: ~p~n", [call({transfer, anna, bertil, "ten"})]),
    wait_for(bank),
    Balances = [call({balance, Name}) || Name <- ?ACCOUNTS],
    io:format("after the restart all accounts are there: ~p~n",
              [lists:all(fun is_integer/1, Balances)]),
    io:format("money in the bank: ~b of ~b~n", [lists:sum(Balances), length(?ACCOUNTS) * ?START]),

    Supervisor ! {stop, self()},
    receive {stopped, Restarts} -> io:format("restarts: ~b~n", [Restarts]) end.

%%% The supervisor: owns the last good state, starts the server with it, starts it again.

supervisor(Main) ->
    process_flag(trap_exit, true),
    supervise(start_server(#{}), #{}, 0, Main).

supervise(Server, Accounts, Restarts, Main) ->
    receive
        {state, Server, New} ->
            Server ! saved,
            supervise(Server, New, Restarts, Main);
        {'EXIT', Server, Reason} ->
            io:format("supervisor: the server died of ~p~n", [class(Reason)]),
            supervise(start_server(Accounts), Accounts, Restarts + 1, Main);
        {stop, From} ->
            exit(Server, shutdown),
            receive {'EXIT', Server, _} -> From ! {stopped, Restarts} end
    end.

start_server(Accounts) ->
    Supervisor = self(),
    Server = spawn_link(fun() -> server(Accounts, Supervisor) end),
    register(bank, Server),
    Server.

class({Error, Stack}) when is_list(Stack) -> Error;
class(Reason) -> Reason.

%%% The server: one request after the other, so none sees another half done.

server(Accounts, Supervisor) ->
    receive
        {Ref, From, Request} ->
            {Reply, New} = handle(Request, Accounts),
            Supervisor ! {state, self(), New},
            receive saved -> ok end,
            From ! {Ref, Reply},
            server(New, Supervisor)
    end.

handle({open, Name, Amount}, Accounts) when not is_map_key(Name, Accounts) ->
    {ok, Accounts#{Name => Amount}};
handle({balance, Name}, Accounts) ->
    {maps:get(Name, Accounts, no_account), Accounts};
handle({transfer, From, To, Amount}, Accounts) ->
    #{From := A, To := _} = Accounts,
    case A - Amount of
        Left when Left < 0 ->
            {insufficient_funds, Accounts};
        Left ->
            Paid = Accounts#{From := Left},
            {ok, maps:update_with(To, fun(B) -> B + Amount end, Paid)}
    end.

%%% The clients.

call(Request) ->
    Ref = monitor(process, bank),
    try
        bank ! {Ref, self(), Request},
        receive
            {Ref, Reply} -> Reply;
            {'DOWN', Ref, process, _, Reason} -> {server_died, class(Reason)}
        end
    catch
        error:badarg -> {server_died, noproc}  % nobody has the name right now
    after
        demonitor(Ref, [flush])
    end.

client(Seed, Times) ->
    [call(transfer(Seed * 1000 + N)) || N <- lists:seq(1, Times)],
    exit({transfers, Times}).

transfer(N) ->
    Pick = fun(Salt) -> lists:nth(erlang:phash2({N, Salt}, 4) + 1, ?ACCOUNTS) end,
    {transfer, Pick(from), Pick(to), erlang:phash2({N, amount}, 50) + 1}.

wait_for(Name) ->
    case whereis(Name) of
        undefined -> erlang:yield(), wait_for(Name);
        _ -> ok
    end.
