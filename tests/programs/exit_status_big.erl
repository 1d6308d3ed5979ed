%% Only the low eight bits of a status reach the parent.
-module(exit_status_big).
-export([main/1]).

main(_) -> io:format("256 + 7~n"), halt(263).
