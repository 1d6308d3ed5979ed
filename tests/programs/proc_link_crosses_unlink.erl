%% One side links while the other unlinks: in the end both are linked, or neither is.
-module(proc_link_crosses_unlink).
-export([main/1]).

main(_) ->
    io:format("~p~n", [[agree(fun unlink/1, fun link/1, First) || _ <- lists:seq(1, 200), First <- [linked, apart]] --
                           lists:duplicate(400, true)]),
    Relink = fun(Other) -> link(Other), unlink(Other), link(Other) end,
    Both = fun(Other) -> unlink(Other), link(Other), unlink(Other) end,
    io:format("~p~n", [[agree(Relink, Both, First) || _ <- lists:seq(1, 200), First <- [linked, apart]] --
                           lists:duplicate(400, true)]),
    io:format("~p~n", [[agree(Relink, fun link/1, First) || _ <- lists:seq(1, 200), First <- [linked, apart]] --
                           lists:duplicate(400, true)]).

%% The second begins when the first has done its part, and has most likely not heard of it.
agree(First, Second, Before) ->
    Flag = atomics:new(1, []),
    A = spawn(fun() -> side(fun(Other) -> First(Other), atomics:put(Flag, 1, 1) end) end),
    B = spawn(fun() -> side(fun(Other) -> until(Flag), Second(Other) end) end),
    Linked = Before =:= linked,
    A ! {self(), B, Linked},
    receive A -> ok end,
    B ! {self(), A, false},
    receive B -> ok end,
    A ! go,
    B ! go,
    %% Each has told the other that it is done, behind what it had to say about the link.
    receive {A, done} -> ok end,
    receive {B, done} -> ok end,
    [LinksA, LinksB] = [begin {links, L} = process_info(P, links), L end || P <- [A, B]],
    Agreed = lists:member(B, LinksA) =:= lists:member(A, LinksB),
    [exit(P, kill) || P <- [A, B]],
    Agreed.

side(Does) ->
    receive
        {Tester, Other, Link} ->
            Link andalso link(Other),
            Tester ! self(),
            receive go -> ok end,
            Does(Other),
            Other ! {self(), did},
            receive {Other, did} -> ok end,
            Other ! {self(), heard},
            receive {Other, heard} -> ok end,
            Tester ! {self(), done},
            receive never -> ok end
    end.

until(Flag) -> atomics:get(Flag, 1) =:= 1 orelse until(Flag).
