%% What main returns does not matter.
-module(exit_return_value).
-export([main/1]).

main(_) -> io:format("fine~n"), {error, 17}.
