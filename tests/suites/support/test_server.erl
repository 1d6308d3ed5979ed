%% What OTP's suites ask of common_test's module test_server, for suite_harness.
-module(test_server).
-export([lookup_config/2, timetrap/1, timetrap_cancel/0, timetrap_cancel/1,
         timetrap_scale_factor/0, do_times/2, do_times/4, timecall/3, call_crash/3, m_out_of_n/3,
         seconds/1, minutes/1, hours/1, sleep/1, adjusted_sleep/1, fail/0, fail/1, comment/1,
         messages_get/0, is_cover/0, is_debug/0, is_asan/0, is_valgrind/0, is_native/1,
         is_release_available/1, memory_checker/0, temp_name/1, peer_name/2, start_peer/3,
         start_peer/5, start_node/3, stop_node/1, capture_start/0, capture_stop/0, capture_get/0,
         fault/4, app_test/1, app_test/2, appup_test/1, call_crash/4, call_crash/5,
         run_on_shielded_node/2]).

lookup_config(Key, Config) ->
    case lists:keyfind(Key, 1, Config) of
        {_, Value} -> Value;
        false -> undefined
    end.

timetrap(Time) -> suite_harness:timetrap(Time).
timetrap_cancel() -> suite_harness:timetrap_cancel().
timetrap_cancel(_) -> suite_harness:timetrap_cancel().
timetrap_scale_factor() -> 1.

do_times(N, Fun) when N > 0 -> Fun(), do_times(N - 1, Fun);
do_times(0, _) -> ok.
do_times(N, M, F, A) when N > 0 -> apply(M, F, A), do_times(N - 1, M, F, A);
do_times(0, _, _, _) -> ok.

timecall(M, F, A) ->
    {Us, Value} = timer:tc(M, F, A),
    {Us / 1000000, Value}.

call_crash(M, F, A) -> call_crash(infinity, any, M, F, A).
call_crash(Time, M, F, A) -> call_crash(Time, any, M, F, A).
call_crash(Time, Crash, M, F, A) ->
    {Pid, Ref} = spawn_monitor(M, F, A),
    receive
        {'DOWN', Ref, process, Pid, Crash} -> ok;
        {'DOWN', Ref, process, Pid, _} when Crash =:= any -> ok;
        {'DOWN', Ref, process, Pid, Why} -> exit({wrong_crash_reason, Why})
    after Time -> exit(call_crash_timeout)
    end.

m_out_of_n(0, _, _) -> ok;
m_out_of_n(M, 0, _) -> exit({m_out_of_n_failed, {M, left_to_do}});
m_out_of_n(M, N, Fun) ->
    case catch Fun() of
        {'EXIT', _} -> m_out_of_n(M, N - 1, Fun);
        _ -> m_out_of_n(M - 1, N - 1, Fun)
    end.

seconds(N) -> round(N * 1000).
minutes(N) -> round(N * 60000).
hours(N) -> round(N * 3600000).
sleep(Time) -> ct:sleep(Time).
adjusted_sleep(Time) -> ct:sleep(Time).

-spec fail() -> no_return().
fail() -> exit(suite_failed).
-spec fail(term()) -> no_return().
fail(Reason) -> exit({suite_failed, Reason}).
comment(Text) -> suite_harness:comment(Text).

messages_get() ->
    receive Message -> [Message | messages_get()] after 0 -> [] end.

is_cover() -> false.
is_debug() -> false.
is_asan() -> false.
is_valgrind() -> false.
is_native(_) -> false.
is_release_available(_) -> false.
memory_checker() -> none.
fault(_, _, _, _) -> ok.
app_test(_) -> throw({skip, "application tests are not ours"}).
app_test(_, _) -> throw({skip, "application tests are not ours"}).
appup_test(_) -> throw({skip, "application tests are not ours"}).
run_on_shielded_node(_, _) -> throw({skip, "needs another node"}).

temp_name(Stem) ->
    Name = Stem ++ integer_to_list(erlang:unique_integer([positive])),
    case file:read_file_info(Name) of
        {ok, _} -> temp_name(Stem);
        _ -> Name
    end.

%% The machine is not distributed here: what needs another node is left out on both sides.
peer_name(Module, Case) -> lists:concat([Module, "-", Case]).
start_peer(_, _, _) -> throw({skip, "needs another node"}).
start_peer(_, _, _, _, _) -> throw({skip, "needs another node"}).
start_node(_, _, _) -> throw({skip, "needs another node"}).
stop_node(_) -> ok.

capture_start() -> suite_output:capture(self()).
capture_stop() -> suite_output:capture(none).
capture_get() -> suite_output:captured().
