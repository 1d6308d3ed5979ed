%% A throw that nobody catches is an uncaught exception: status 127.
-module(exit_throw).
-export([main/1]).

main(_) -> io:format("x~n"), throw({nobody, catches, this}).
