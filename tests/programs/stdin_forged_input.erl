%% What another process says that the input is: the server of standard input takes it from its reader alone.
-module(stdin_forged_input).
-export([main/1]).

main(_) ->
    Server = group_leader(),
    forge(Server),
    io:format("~p~n", [io:get_line("")]),
    Self = self(),
    %% While it waits for more, too.
    spawn_link(fun() ->
                       Self ! {line, io:get_line("")},
                       Self ! {line, io:get_line("")}
               end),
    forge(Server),
    [receive {line, Line} -> io:format("~p~n", [Line]) end || _ <- [1, 2]].

forge(Server) ->
    Server ! {input, self(), <<"forged\n">>},
    Server ! {input, self(), eof},
    Server ! {input, none, <<"forged, too\n">>}.
