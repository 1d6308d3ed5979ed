%% A call that the compiler gives no line has that of what comes before it, tail calls of other
%% modules apart.
-module(exc_line_of_tail_call).
-export([main/1, remote/2, local/2, remote_last/2, bif/2, applied/2]).

main(_) ->
    lists:foreach(fun t/1, [fun remote/2, fun local/2, fun remote_last/2, fun bif/2, fun applied/2]).

t(F) ->
    try F(b, 1)
    catch
        error:Reason:Stack ->
            {_, _, _, Location} = lists:nth(2, Stack),
            io:format("~p ~p~n", [Reason, proplists:get_value(line, Location)])
    end.

remote(a, X) ->
    io:format(X);
remote(_, _) ->
    maps:get(ok, ok).

local(a, X) ->
    t(X);
local(_, _) ->
    maps:get(ok, ok).

remote_last(a, X) ->
    t(X),
    io:format(X);
remote_last(_, _) ->
    maps:get(ok, ok).

bif(a, X) ->
    erlang:md5(X);
bif(_, _) ->
    maps:get(ok, ok).

applied(a, X) ->
    apply(X, X, X);
applied(_, _) ->
    maps:get(ok, ok).
