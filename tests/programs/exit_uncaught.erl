%% An error that leaves main/1 gives status 127; what was printed before it arrives.
-module(exit_uncaught).
-export([main/1, id/1]).

main(_) ->
    io:format("before ~ts~n", [[8364, 228]]),
    1 + id(a),
    io:format("never~n").

id(X) -> X.
