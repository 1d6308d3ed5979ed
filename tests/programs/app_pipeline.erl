%% A word pipeline of processes with back pressure: reader, splitter, counters by hash, merger.
-module(app_pipeline).
-export([main/1]).

main(_) ->
    Text = lists:append(lists:duplicate(200, ["the cat sat on the mat", "a dog ate the cat",
                                              "on and on the dog ran"])),
    Self = self(),
    Counters = [spawn_link(fun() -> counter(#{}, Self) end) || _ <- lists:seq(1, 4)],
    Splitter = spawn_link(fun() -> splitter(list_to_tuple(Counters)) end),
    spawn_link(fun() -> reader(Text, Splitter, 0) end),
    Total = lists:foldl(fun(_, M) -> receive {counts, C} ->
                                         maps:merge_with(fun(_, A, B) -> A + B end, M, C) end end,
                        #{}, Counters),
    io:format("~p~n", [lists:sort(maps:to_list(Total))]),
    io:format("~p~n", [lists:sum(maps:values(Total))]).

%% At most ten lines are on their way at any moment.
reader([], To, _) -> To ! eof;
reader(Lines, To, 10) -> receive ack -> reader(Lines, To, 9) end;
reader([L | T], To, N) -> To ! {line, L, self()}, reader(T, To, N + 1).

splitter(Counters) ->
    receive
        {line, L, From} -> [element(erlang:phash2(W, tuple_size(Counters)) + 1,
                                    Counters) ! {word, W} || W <- string:lexemes(L, " ")],
            From ! ack, splitter(Counters);
        eof -> [C ! eof || C <- tuple_to_list(Counters)]
    end.

counter(M, Main) -> receive {word, W} -> counter(M#{W => maps:get(W, M, 0) + 1}, Main);
                        eof -> Main ! {counts, M} end.
