%% What the flight recorder keeps when a program fails, three ways:
%%
%%   minivm run --record box.rec blackbox.beam error        an Erlang error deep in a call chain
%%   minivm run --record box.rec --debug-bifs blackbox.beam segv    the VM itself fails
%%   minivm run --record box.rec blackbox.beam kill         waits to be killed: kill -9 its pid
%%
%% and then `minivm dump --crash box.rec`. A till sells, clients buy; the last thing each of them said
%% is what one wants to know afterwards.
-module(blackbox).
-export([main/1]).

main([How]) ->
    Till = spawn(fun() -> till(10000) end),
    register(till, Till),
    Clients = [spawn_monitor(fun() -> client(Name, 50) end) || Name <- [ann, ben, cleo]],
    [receive {'DOWN', Ref, process, Pid, normal} -> ok end || {Pid, Ref} <- Clients],
    recorder:event(shop, "closing time, ~p of ~s left", [left(), "stock"]),
    fail(How);
main(_) ->
    io:format("usage: blackbox error|segv|kill~n").

till(Left) ->
    receive
        {buy, Client, Name, N} ->
            Client ! {sold, Name, N, Left - N},
            till(Left - N);
        {left, Client} ->
            Client ! {left, Left},
            till(Left)
    end.

client(_, 0) ->
    ok;
client(Name, Times) ->
    till ! {buy, self(), Name, Times rem 7},
    receive {sold, Name, _, _} -> client(Name, Times - 1) end.

left() ->
    till ! {left, self()},
    receive {left, N} -> N end.

fail("error") ->
    recorder:span(shop, accounts, fun() -> close_accounts([ann, ben, cleo]) end);
fail("segv") ->
    till ! {buy, self(), last_order, 3},
    receive {sold, last_order, 3, _} -> ok end,
    into_the_vm(3);
fail("kill") ->
    till ! {buy, self(), last_order, 5},
    receive {sold, last_order, 5, _} -> ok end,
    io:format("~s~n", [os:getpid()]),
    receive after infinity -> ok end.

close_accounts([Name | Rest]) ->
    [account(Name) | close_accounts(Rest)];
close_accounts([]) ->
    [].

account(Name) ->
    total(Name, [1, 2, three]).

total(Name, [N | Rest]) ->
    N + total(Name, Rest);
total(_, []) ->
    0.

into_the_vm(0) ->
    minivm:provoke_fault(segv);
into_the_vm(N) ->
    {ok, into_the_vm(N - 1)}.
