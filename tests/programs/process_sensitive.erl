%% process_flag(sensitive, true) hides messages, dictionary and backtrace, from the process as well.
-module(process_sensitive).
-export([main/1]).

main(_) ->
    S = self(),
    P = spawn(fun() ->
        false = process_flag(sensitive, true),
        put(secret, value),
        self() ! message,
        S ! ready,
        receive stop -> ok end
    end),
    receive ready -> ok end,
    timer:sleep(20),
    [io:format("~p~n", [process_info(P, Item)])
     || Item <- [messages, message_queue_len, dictionary, backtrace, initial_call, links]],
    false = process_flag(sensitive, true),
    put(secret, value),
    self() ! hello,
    io:format("~p ~p~n", [process_info(self(), messages), process_info(self(), dictionary)]),
    true = process_flag(sensitive, false),
    io:format("~p ~p~n", [process_info(self(), messages),
                          lists:member({secret, value},
                                       element(2, process_info(self(), dictionary)))]),
    {'EXIT', {badarg, _}} = (catch process_flag(sensitive, 'maybe')),
    ok.
