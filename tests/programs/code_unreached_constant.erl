%% A way that no process goes, left there by a compiler that does not follow types: a float is tested for
%% being a tuple, and its size looked at after that.
-module(code_unreached_constant).
-compile([no_type_opt]).
-export([main/1, take/2]).

main(_) ->
    Values = [#{}, {[1], 2, 3}, {[], 2, 3}, {1}, 1.5],
    [io:format("~p~n", [catch result(X, Y)]) || X <- Values, Y <- Values].

result(X, Y) ->
    try
        take(X, Y)
    catch
        Class:Reason -> {Class, Reason}
    end.

take(X, Y) ->
    N = id(7) band 63,
    {[A | _], B, C} =
        if
            is_map(X); trunc(float(222)) > byte_size(<<>>) ->
                float(case badarg of
                          #{} when is_function(X) -> id(X);
                          _ -> 24
                      end);
            true ->
                Y
        end,
    self() ! B,
    id([A, C, N, X]).

id(X) ->
    X.
