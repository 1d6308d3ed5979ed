%% logger:format_report/1 takes any term: only maps and lists of pairs were taken.
-module(logger_format_report).
-export([main/1]).

main(_) ->
    io:format("~p~n", [[logger:format_report(X)
                        || X <- [term, [], "abc", [{a, 1}], [{a, 1}, b], #{a => 1, b => 2}, [a, b], ["ab", "c"],
                                 [[1]], {t}]]]).
