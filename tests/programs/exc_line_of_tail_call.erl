%% A call that the compiler gives no line has that of what comes before it, tail calls of other
%% modules apart.
-module(exc_line_of_tail_call).
-export([main/1, remote/2, local/2, remote_last/2, bif/2, applied/2, line_of/1, line_of/2, line_of/5, id/1,
         remote_moved_two/1]).
-compile([no_fun_opt, nowarn_failed]).

main(_) ->
    lists:foreach(fun t/1, [fun remote/2, fun local/2, fun remote_last/2, fun bif/2, fun applied/2]),
    [begin remote_unmoved(A), local_unmoved(A), remote_moved(A, 1), local_moved(A, 2) end || A <- [a, b]],
    t(fun(_, _) -> {remote_moved_two(<<8>>)} end).

t(F) ->
    try F(b, 1)
    catch
        error:Reason:Stack ->
            {_, _, _, Location} = lists:nth(if Reason =:= {case_clause, 8} -> 1; true -> 2 end, Stack),
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

%% The compiler puts the end of a case behind the tail call, with no line of its own: it has that of the
%% call, unless something is moved to the first argument's register right before the call.
remote_unmoved(A) ->
    ?MODULE:line_of(catch min(case id(A) of
                                  b -> ok
                              end,
                              ok + ok)).

local_unmoved(A) ->
    line_of(catch min(case id(A) of
                          b -> ok
                      end,
                      ok + ok)).

remote_moved(A, B) ->
    Error = (catch min(case id(A) of
                           b -> ok
                       end,
                       ok + ok)),
    ?MODULE:line_of(B, Error).

local_moved(A, B) ->
    Error = (catch min(case id(A) of
                           b -> ok
                       end,
                       ok + ok)),
    line_of(B, Error).

%% Two moves between neighbours are one instruction, so that nothing is moved there alone.
remote_moved_two(V) ->
    ?MODULE:line_of(case id(8) of
                        <<_:65/bits>> -> a;
                        <<_:12/little, _/binary>> -> V
                    end,
                    V,
                    id(1.0e308),
                    1,
                    V).

id(X) -> X.
line_of({'EXIT', {Reason, [{_, _, _, Location} | _]}}) ->
    io:format("~p ~p~n", [Reason, proplists:get_value(line, Location)]).
line_of(_, _, _, _, _) ->
    none.
line_of(Where, Error) ->
    io:format("~p ", [Where]),
    line_of(Error).
