%% A till with a bug, to be found while it runs: docs/prompt.md follows it from symptom to cause.
%%
%%     minivm run --listen DIR/till till.beam      and then   minivm attach DIR/till
%%
%% A hundred pieces of something are to be a quarter cheaper, ten a tenth. VERSION 2 is without the bug.
-module(till).
-export([main/1, sell/1, loop/1]).

-ifndef(VERSION).
-define(VERSION, 1).
-endif.

main(_) ->
    register(till, spawn(fun() -> loop(0) end)),
    io:format("the till is open~n"),
    receive after infinity -> ok end.

%% [{Item, Number}] -> what the customer pays
sell(Items) ->
    Ref = make_ref(),
    till ! {sell, self(), Ref, Items},
    receive {Ref, Sum} -> Sum after 5000 -> exit(no_answer) end.

loop(Taken) ->
    receive
        {sell, Customer, Ref, Items} ->
            Sum = lists:sum([line(Item, N) || {Item, N} <- Items]),
            Customer ! {Ref, Sum},
            ?MODULE:loop(Taken + Sum)
    end.

line(Item, N) ->
    N * price(Item) * (100 - discount(N)) div 100.

price(apple) -> 30;
price(bread) -> 250;
price(milk) -> 110.

-if(?VERSION =:= 1).
discount(N) when N >= 10 -> 10;
discount(N) when N >= 100 -> 25;
discount(_) -> 0.
-else.
discount(N) when N >= 100 -> 25;
discount(N) when N >= 10 -> 10;
discount(_) -> 0.
-endif.
