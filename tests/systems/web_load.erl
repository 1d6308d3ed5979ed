%% Requests over connections that stay, for web.py: as many as the server takes, or so many a second.
%%
%%     erl -noshell -s web_load main -- tls|tcp PORT PATH CONNECTIONS RATE SECONDS
%%
%% RATE max: each connection asks again when it is answered. A number: an open loop. Each request has its time, whatever became of
%% those before it, and how long it took counts from then, so that a pause of the server shows in all requests that fell into it.
%% Prints {Answers, AnswersPerSecond, {P50, P99, P999, Most}, Wrong, Versions}: microseconds.
-module(web_load).
-export([main/0]).

main() ->
    [How, Port, Path, Connections, Rate, Seconds] = [A || A <- init:get_plain_arguments(), A =/= "--"],
    {ok, _} = application:ensure_all_started(ssl),
    io:format("~0p.~n", [run(list_to_atom(How), list_to_integer(Port), Path, list_to_integer(Connections),
                             case Rate of "max" -> max; _ -> list_to_integer(Rate) end, list_to_integer(Seconds))]),
    halt().

run(How, Port, Path, Connections, Rate, Seconds) ->
    Request = ["GET ", Path, " HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    Expected = expected(filename:basename(Path)),
    Sockets = [connect(How, Port) || _ <- lists:seq(1, Connections)],
    [begin send(S, Request), {Expected, _} = answer(S) end || S <- Sockets],
    Start = erlang:monotonic_time(millisecond) + 100,
    End = Start + 1000 * Seconds,
    Pids = [spawn_monitor(fun() ->
                case Rate of
                    max -> exit({done, closed(S, Request, Expected, End, [], 0, #{})});
                    _ -> exit({done, open(S, Request, Expected, {Start, N, Connections, Rate}, 0, End, [], 0, #{})})
                end
            end) || {N, S} <- lists:zip(lists:seq(0, Connections - 1), Sockets)],
    Results = [receive {'DOWN', Ref, process, _, {done, R}} -> R; {'DOWN', Ref, process, _, Why} -> exit(Why) end || {_, Ref} <- Pids],
    Took = (erlang:monotonic_time(millisecond) - Start) / 1000,
    Times = lists:sort(lists:append([T || {T, _, _} <- Results])),
    All = list_to_tuple(Times),
    At = fun(Part) -> element(max(1, min(tuple_size(All), ceil(Part * tuple_size(All)))), All) end,
    {tuple_size(All), round(tuple_size(All) / Took), {At(0.5), At(0.99), At(0.999), At(1)}, lists:sum([W || {_, W, _} <- Results]),
     lists:sort(maps:keys(lists:foldl(fun({_, _, V}, Vs) -> maps:merge(V, Vs) end, #{}, Results)))}.

closed(S, Request, Expected, End, Times, Wrong, Versions) ->
    Begin = erlang:monotonic_time(microsecond),
    case Begin div 1000 >= End of
        true -> {Times, Wrong, Versions};
        false ->
            send(S, Request),
            {Body, Version} = answer(S),
            closed(S, Request, Expected, End, [erlang:monotonic_time(microsecond) - Begin | Times], Wrong + wrong(Body, Expected),
                   Versions#{Version => true})
    end.

open(S, Request, Expected, {Start, N, Connections, Rate} = Plan, K, End, Times, Wrong, Versions) ->
    At = Start + (K * Connections + N) * 1000 div Rate,
    case At >= End of
        true -> {Times, Wrong, Versions};
        false ->
            Timer = erlang:start_timer(At, self(), go, [{abs, true}]),
            receive {timeout, Timer, go} -> ok end,
            send(S, Request),
            {Body, Version} = answer(S),
            open(S, Request, Expected, Plan, K + 1, End, [erlang:monotonic_time(microsecond) - 1000 * At | Times],
                 Wrong + wrong(Body, Expected), Versions#{Version => true})
    end.

wrong(Body, Body) -> 0;
wrong(_, _) -> 1.

expected("small") -> <<"Hello, world!">>;
expected("big") -> binary:copy(<<"0123456789">>, 10000);
expected("chunked") -> binary:copy(<<"x">>, 102400).

%% ---- HTTP, as little as there has to be ----

connect(tls, Port) ->
    {ok, S} = ssl:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {nodelay, true}, {verify, verify_none}], 30000),
    {ssl, S};
connect(tcp, Port) ->
    {ok, S} = gen_tcp:connect({127, 0, 0, 1}, Port, [binary, {active, false}, {nodelay, true}], 30000),
    {gen_tcp, S}.

send({Module, S}, Data) -> ok = Module:send(S, Data).

more({Module, S}) -> {ok, Data} = Module:recv(S, 0, 60000), Data.

answer(S) -> answer(S, <<>>).
answer(S, Got) ->
    case binary:split(Got, <<"\r\n\r\n">>) of
        [Head, Rest] ->
            [<<"HTTP/1.1 200 OK">> | Lines] = binary:split(Head, <<"\r\n">>, [global]),
            Headers = maps:from_list([{string:lowercase(Name), Value} || Line <- Lines, [Name, Value] <- [binary:split(Line, <<": ">>)]]),
            Body = case Headers of
                #{<<"content-length">> := Length} -> exactly(S, binary_to_integer(Length), Rest);
                #{<<"transfer-encoding">> := <<"chunked">>} -> iolist_to_binary(chunks(S, Rest))
            end,
            {Body, binary_to_integer(maps:get(<<"version">>, Headers, <<"0">>))};
        [_] -> answer(S, <<Got/binary, (more(S))/binary>>)
    end.

exactly(_, Length, Got) when byte_size(Got) =:= Length -> Got;
exactly(S, Length, Got) when byte_size(Got) < Length -> exactly(S, Length, iolist_to_binary([Got | gather(S, Length - byte_size(Got))])).

gather(S, Left) when Left > 0 -> Data = more(S), [Data | gather(S, Left - byte_size(Data))];
gather(_, _) -> [].

chunks(S, Got) ->
    case binary:split(Got, <<"\r\n">>) of
        [<<"0">>, <<"\r\n">>] -> [];
        [Hex, Rest] when Hex =/= <<"0">> ->
            Length = binary_to_integer(Hex, 16),
            chunk(S, Length, Rest);
        _ -> chunks(S, <<Got/binary, (more(S))/binary>>)
    end.

chunk(S, Length, Got) when byte_size(Got) >= Length + 2 ->
    <<Chunk:Length/binary, "\r\n", Rest/binary>> = Got,
    [Chunk | chunks(S, Rest)];
chunk(S, Length, Got) -> chunk(S, Length, <<Got/binary, (more(S))/binary>>).
