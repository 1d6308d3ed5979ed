%% The smallest program: what it takes to start.
-module(m_hello).
-export([main/1]).

main(_) -> io:format("Hello, world!~n").
