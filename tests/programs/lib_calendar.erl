%% calendar and small time arithmetic (nothing that depends on now or on the time zone), base64.
-module(lib_calendar).
-export([main/1]).

main(_) ->
    Ds = [{1970, 1, 1}, {2000, 2, 29}, {1999, 12, 31}, {2024, 2, 29}, {2023, 3, 1}, {9999, 12, 31},
          {1, 1, 1}, {1600, 2, 29}],
    [io:format("~p ~p ~p ~p ~p~n", [D, calendar:date_to_gregorian_days(D),
                                    calendar:day_of_the_week(D), calendar:iso_week_number(D),
                                    calendar:gregorian_days_to_date(calendar:date_to_gregorian_days(D))]) || D <- Ds],
    io:format("~p~n", [[calendar:valid_date(D) || D <- [{2023, 2, 29}, {2024, 2, 29}, {2023, 13, 1},
                                                        {2023, 4, 31}, {-1, 1, 1}]]]),
    io:format("~p~n", [[{Y, calendar:is_leap_year(Y)} || Y <- [1900, 2000, 2004, 2023]]]),
    io:format("~p~n", [[calendar:last_day_of_the_month(2023, M) || M <- lists:seq(1, 12)]]),
    io:format("~p~n", [[calendar:gregorian_seconds_to_datetime(S)
                        || S <- [0, 62167219200, 63900000000]]]),
    io:format("~p~n", [calendar:datetime_to_gregorian_seconds({{2022, 12, 24}, {15, 30, 45}})]),
    io:format("~p~n", [calendar:time_difference({{2022, 1, 1}, {0, 0, 0}},
                                                {{2023, 3, 4}, {5, 6, 7}})]),
    io:format("~p ~p~n", [calendar:seconds_to_daystime(100000), calendar:seconds_to_time(3661)]),
    io:format("~p~n", [[calendar:system_time_to_rfc3339(T, [{offset, "Z"}, {unit, U}])
                        || {T, U} <- [{0, second}, {1700000000, second},
                                      {1700000000123, millisecond},
                                      {1700000000123456, microsecond}]]]),
    io:format("~p~n",
              [[calendar:rfc3339_to_system_time(S) || S <- ["1970-01-01T00:00:00Z",
                                                            "2023-11-14T22:13:20Z",
                                                            "2023-11-14T22:13:20+02:00"]]]),
    io:format("~p~n", [[calendar:system_time_to_universal_time(T, second)
                        || T <- [0, 1700000000]]]),
    Texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar", <<0, 255, 128>>],
    [io:format("~s ~p~n", [base64:encode(T), base64:decode(base64:encode(T))]) || T <- Texts],
    io:format("~p~n",
              [[try base64:decode(T) catch C:_ -> C end
                || T <- ["Zm9v", "Zm9vYg==", "Z m 9\nv", "Zm9", "Z===", "!!!!", <<"Zm9vYmE=">>]]]),
    io:format("~p ~p~n", [base64:encode_to_string("abc"), base64:decode_to_string("YWJj")]),
    io:format("~p~n", [base64:mime_decode("Zm9v*Yg==")]),
    B = << <<(I * 7)>> || I <- lists:seq(1, 3000) >>,
    io:format("~p ~p~n", [erlang:phash2(base64:encode(B)), base64:decode(base64:encode(B)) =:= B]).
