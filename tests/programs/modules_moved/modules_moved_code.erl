-module(modules_moved_code).
-export([work/4, tail/2, deep/1, stay/2, literal_fun/0, catching/1, garbage/1, fun_of/1]).

-define(LITERAL, {"a literal", [1, 2, 3], {key, 2.5}}).

%% Rounds of work until it is told to stop; each round begins in the current code.
work(Kind, Depth, Parent, Round) ->
    receive
        {stop, Parent} -> Parent ! {self(), Kind, ok, Round}
    after 0 ->
        case round(Kind, Depth) of
            ok -> ?MODULE:work(Kind, Depth, Parent, Round + 1);
            Wrong -> Parent ! {self(), Kind, Wrong, Round + 1}
        end
    end.

round(loop, _) -> expect(500500, loop(1000, 0));
round(tail, _) -> expect(3000, tail(3000, 0));
round(deep, N) -> expect(N * (N + 1) div 2, deep(N));
round(funs, _) ->
    F = get(held),
    put(held, fun_of(get(count))),
    Old = case F of undefined -> ok; _ -> {_, L} = F(1), L end,
    case Old of
        ok -> ok;
        ?LITERAL -> expect([2, 4, 6], lists:map(fun(X) -> X * 2 end, [1, 2, 3]))
    end;
round(catching, N) -> expect(N, catching(N));
round(garbage, N) -> expect(N, garbage(N));
round(server, _) ->
    Self = self(),
    {P, R} = spawn_monitor(fun() -> receive {Self, X} -> exit({?LITERAL, deep(X)}) end end),
    erlang:yield(),
    P ! {Self, 100},
    receive {'DOWN', R, process, P, Why} -> expect({?LITERAL, 5050}, Why) end.

expect(X, X) -> ok;
expect(X, Y) -> {expected, X, got, Y}.

loop(0, Sum) -> Sum;
loop(N, Sum) -> loop(N - 1, Sum + N).

tail(0, Sum) -> Sum;
tail(N, Sum) -> ?MODULE:tail(N - 1, Sum + 1).

%% Fully qualified every 16 frames: the stack holds frames of old code and new.
deep(0) -> erlang:yield(), 0;
deep(N) when N rem 16 =:= 0 -> N + ?MODULE:deep(N - 1);
deep(N) -> N + deep(N - 1).

catching(0) -> throw(bottom);
catching(N) ->
    try ?MODULE:catching(N - 1)
    catch
        throw:bottom -> throw(1);
        throw:K when K + 1 =:= N -> case N of 200 -> N; _ -> throw(N) end;
        throw:K -> throw(K + 1)
    end.

garbage(0) -> erlang:garbage_collect(), 0;
garbage(N) ->
    Keep = {N, ?LITERAL, integer_to_list(N)},
    R = 1 + ?MODULE:garbage(N - 1),
    {N, ?LITERAL, _} = Keep,
    R.

fun_of(X) -> fun(1) -> {X, ?LITERAL} end.

literal_fun() -> fun() -> ?LITERAL end.

stay(Parent, Term) ->
    Parent ! {self(), staying},
    receive {go, Parent} -> exit({stayed, Term, ?LITERAL, loop(10, 0)}) end.
