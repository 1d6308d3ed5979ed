%% What OTP's suites ask of common_test's module ct, for suite_harness.
-module(ct).
-export([fail/1, fail/2, pal/1, pal/2, pal/3, pal/4, log/1, log/2, log/3, log/4, print/1, print/2,
         comment/1, comment/2, sleep/1, timetrap/1, get_timetrap_info/0, get_progname/0,
         get_config/1, get_config/2, get_status/0,
         capture_start/0, capture_stop/0, capture_get/0, capture_get/1]).

-spec fail(term()) -> no_return().
fail(Reason) ->
    exit({test_case_failed, Reason}).
-spec fail(term(), list()) -> no_return().
fail(Format, Args) ->
    exit({test_case_failed, lists:flatten(io_lib:format(Format, Args))}).

pal(Format) -> output(Format, []).
pal(A, B) when is_list(A); is_binary(A) -> output(A, B);
pal(_, B) -> output(B, []).
pal(_, B, C) -> output(B, C).
pal(_, _, C, D) -> output(C, D).
log(Format) -> pal(Format).
log(A, B) -> pal(A, B).
log(A, B, C) -> pal(A, B, C).
log(A, B, C, D) -> pal(A, B, C, D).
print(Format) -> output(Format, []).
print(Format, Args) -> output(Format, Args).

output(Format, Args) ->
    try io_lib:format(Format, Args) of
        Text -> io:put_chars(user, [Text, $\n])
    catch _:_ -> io:format(user, "~p ~p~n", [Format, Args])
    end,
    ok.

comment(Text) -> suite_harness:comment(Text).
comment(Format, Args) -> suite_harness:comment(io_lib:format(Format, Args)).

sleep({hours, N}) -> sleep(N * 3600000);
sleep({minutes, N}) -> sleep(N * 60000);
sleep({seconds, N}) -> sleep(N * 1000);
sleep(N) -> timer:sleep(round(N)).

timetrap(Time) -> suite_harness:timetrap(Time).
get_timetrap_info() -> {1800000, {false, 1}}.
get_progname() ->
    case init:get_argument(progname) of
        {ok, [[Name]]} -> Name;
        _ -> "erl"
    end.
get_config(_) -> undefined.
get_config(_, Default) -> Default.
get_status() -> no_tests_running.

capture_start() -> test_server:capture_start().
capture_stop() -> test_server:capture_stop().
capture_get() -> test_server:capture_get().
capture_get(_) -> test_server:capture_get().
