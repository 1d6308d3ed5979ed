%% The group leader of testcases: what they print goes on to `user`, and to whom it may concern as well
%% between ct:capture_start() and ct:capture_stop().
-module(suite_output).
-export([start/0, capture/1, captured/0]).

start() ->
    Parent = self(),
    Pid = spawn(fun() -> register(?MODULE, self()), Parent ! {self(), ready}, loop(none) end),
    receive {Pid, ready} -> Pid end.

capture(Pid) -> ?MODULE ! {capture, self(), Pid}, receive {?MODULE, done} -> ok end.

captured() -> receive {captured, Text} -> [Text | captured()] after 100 -> [] end.

loop(To) ->
    receive
        {capture, From, Pid} ->
            From ! {?MODULE, done},
            loop(Pid);
        {io_request, From, As, Request} ->
            case is_pid(To) andalso text(Request) of
                Text when is_list(Text) -> To ! {captured, Text};
                _ -> ok
            end,
            user ! {io_request, From, As, Request},
            loop(To);
        _ ->
            loop(To)
    end.

text({put_chars, Encoding, Chars}) ->
    case unicode:characters_to_list(Chars, Encoding) of
        Text when is_list(Text) -> Text;
        _ -> none
    end;
text({put_chars, Encoding, M, F, A}) ->
    try text({put_chars, Encoding, apply(M, F, A)}) catch _:_ -> none end;
text({put_chars, Chars}) -> text({put_chars, latin1, Chars});
text({put_chars, M, F, A}) -> text({put_chars, latin1, M, F, A});
text({requests, Requests}) ->
    Texts = [text(R) || R <- Requests],
    case lists:member(none, Texts) of true -> none; false -> lists:append(Texts) end;
text(_) -> none.
