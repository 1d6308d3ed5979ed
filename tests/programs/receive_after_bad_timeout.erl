%% A receive that fails on its timeout has looked through the mailbox: the next one begins at the front.
-module(receive_after_bad_timeout).
-export([main/1]).

main(_) ->
    lists:foreach(fun(Timeout) ->
                          self() ! one,
                          self() ! two,
                          Result = {failing(Timeout), taken(two), failing(Timeout), taken(one), taken(one)},
                          io:format("~p: ~p~n", [Timeout, Result])
                  end, [foo, -1, 1.5, 1 bsl 32, 1 bsl 64, [0]]),
    %% After a timeout that was none.
    self() ! five,
    Before = receive never -> never after 1 -> timeout end,
    io:format("~p~n", [{Before, failing({}), taken(five), process_info(self(), messages)}]).

failing(Timeout) ->
    try receive never -> never after Timeout -> timeout end
    catch Class:Reason -> {Class, Reason}
    end.

taken(Message) -> receive Message -> Message after 0 -> {no, Message} end.
