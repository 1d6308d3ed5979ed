%% exit/1 in main, even with reason normal, is an uncaught exception for escript.
-module(exit_exit).
-export([main/1]).

main(_) -> io:format("leaving~n"), exit(normal).
