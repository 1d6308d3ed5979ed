%% A million messages round a ring of processes.
%%
%%     minivm run ring.beam                  1,000 processes, 1,000 rounds
%%     minivm run ring.beam 100000 10        100,000 processes, 10 rounds
%%
%% Every process waits for a number and hands the next one on to its neighbour. Only one message
%% is on its way at a time, so this measures how fast a process is woken and put to sleep again.
-module(ring).
-export([main/1]).

main([]) -> main(["1000", "1000"]);
main([Size, Rounds]) ->
    run(list_to_integer(Size), list_to_integer(Rounds)).

run(Size, Rounds) ->
    Start = erlang:monotonic_time(microsecond),
    First = build(Size - 1),
    Built = erlang:monotonic_time(microsecond),
    Messages = send_round(First, Rounds, 0),
    Done = erlang:monotonic_time(microsecond),
    io:format("~b processes made, ~b messages passed~n", [Size, Messages]),
    %% Times go to standard error: what a program prints should be the same every time.
    io:format(standard_error, "~b ms to make them, ~b ns a message~n",
              [(Built - Start) div 1000, (Done - Built) * 1000 div max(1, Messages)]).

%% The calling process closes the ring: the last one made sends to the one made before it, and
%% so on, and the first one made sends to us.
build(Size) ->
    lists:foldl(fun(_, Next) -> spawn_link(fun() -> pass_on(Next) end) end,
                self(), lists:seq(1, Size)).

pass_on(Next) ->
    receive
        N ->
            Next ! N + 1,
            pass_on(Next)
    end.

send_round(_First, 0, Count) ->
    Count;
send_round(First, Rounds, Count) ->
    First ! Count + 1,
    receive
        N -> send_round(First, Rounds - 1, N)
    end.
