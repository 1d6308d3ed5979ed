%% A call of a fun M:F/A can be where the collection happens that a message brought about: the fun itself
%% lies in the heap that is collected and given back then. Made of a variable, it is no literal.
-module(fun_moved_by_its_own_call).
-export([main/1, handle/3]).

main(_) ->
    [io:format("~p~n", [{Words, Sweep, answers(Words, Sweep)}])
     || Words <- [233, 1000, 5000, 20000, 100000], Sweep <- [0, 1, 65535]].

answers(Words, Sweep) ->
    Server = spawn_opt(fun() -> loop(made(hd([?MODULE || _ <- [Words]])), 0) end,
                       [link, {min_heap_size, Words}, {fullsweep_after, Sweep}]),
    [call(Server, lists:seq(1, N)) || N <- [10, 300, 2000, 20, 5000, 40000, 1, 90000, 2, 30000]].

call(Server, Request) ->
    Server ! {self(), ?MODULE, Request},
    receive {Server, Answer} -> Answer end.

made(Module) -> fun Module:handle/3.

loop(Fun, State) ->
    receive
        {From, Module, Request} -> answer(From, Module, Fun, Fun(From, Request, State))
    end.

answer(From, Module, Fun, {Answer, State}) ->
    From ! {self(), Answer},
    case State rem 3 of
        0 -> loop(Fun, State);
        _ -> loop(made(Module), State)
    end.

handle(From, Request, State) when is_pid(From) ->
    {lists:sum(Request) + State, State + length(Request)}.
