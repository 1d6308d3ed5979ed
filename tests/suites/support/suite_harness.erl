%% Runs one suite of OTP's tests (a module in common_test's form) and says how each testcase ended.
%%
%%   main(["SUITE", DataDir, PrivDir, CapMs | Done])
%%
%% Done are the numbers of the testcases not to run: the runner starts us again after a testcase has
%% taken the whole machine with it. Each testcase gives the lines
%%   @begin Number Name
%%   @end Number ok|skip|fail|timeout Text
%% on standard output; everything else there is the testcase's own.
-module(suite_harness).
-export([main/1]).
-export([timetrap/1, timetrap_cancel/0, comment/1]).

-define(DEFAULT_TIMETRAP, 1800000).

main([SuiteText, DataDir, PrivDir, Cap | Done]) ->
    Suite = list_to_atom(SuiteText),
    Config = [{data_dir, DataDir ++ "/"}, {priv_dir, PrivDir ++ "/"}, {suite, Suite}],
    %% minivm starts the kernel application with its first use; erl has done so.
    _ = application:which_applications(),
    %% erl has loaded these by then, or a testcase may load them; suites count functions, and the second time there
    %% are as many.
    [_ = code:ensure_loaded(Module) || Module <- loaded_by_erl()],
    %% erl has ports of its own, and suites take the first one.
    [] =:= erlang:ports() andalso open_port({spawn, "cat"}, []),
    suite_output:start(),
    {module, Suite} = code:ensure_loaded(Suite),
    put(suite, Suite),
    put(cap, list_to_integer(Cap)),
    put(done, [list_to_integer(N) || N <- Done]),
    put(number, 0),
    put(timetrap, timetrap_of(info(Suite, suite))),
    case guarded(Suite, init_per_suite, [Config]) of
        {ok, SuiteConfig} when is_list(SuiteConfig) ->
            run(Suite:all(), SuiteConfig, []),
            guarded(Suite, end_per_suite, [SuiteConfig]);
        Other ->
            line("@suite ~w", [Other])
    end,
    line("@done", []),
    erlang:halt(0).

loaded_by_erl() ->
    [application, application_controller, application_master, beam_lib, binary, c, code, code_server,
     erl_anno, erl_distribution, erl_eval, erl_features, erl_internal, erl_lint, erl_parse, erl_scan,
     erl_signal_handler, erpc, error_handler, error_logger, ets, file, file_io_server, file_server,
     filename, gb_sets, gb_trees, gen, gen_event, gen_server, global, global_group, heart, inet,
     inet_config, inet_db, inet_gethost_native, inet_parse, inet_udp, io, io_lib, io_lib_format,
     io_lib_pretty, kernel, kernel_config, kernel_refc, lists, logger, logger_backend, logger_config,
     logger_filters, logger_formatter, logger_h_common, logger_handler_watcher, logger_olp,
     logger_proxy, logger_server, logger_simple_h, logger_std_h, logger_sup, maps, net_kernel,
     orddict, ordsets, os, otp_internal, peer, proc_lib, proplists, queue, rand, raw_file_io, rpc,
     standard_error, string, supervisor, supervisor_bridge, test_server, unicode, unicode_util, user, user_sup].

%% What the suite tells of a testcase or of itself.
info(Suite, What) ->
    case erlang:function_exported(Suite, What, 0) of
        true ->
            try Suite:What() of
                List when is_list(List) -> List;
                _ -> []
            catch _:_ -> []
            end;
        false ->
            []
    end.

timetrap_of(Info) ->
    case lists:keyfind(timetrap, 1, Info) of
        {timetrap, Time} -> milliseconds(Time);
        _ -> ?DEFAULT_TIMETRAP
    end.

milliseconds({hours, N}) -> round(N * 3600000);
milliseconds({minutes, N}) -> round(N * 60000);
milliseconds({seconds, N}) -> round(N * 1000);
milliseconds(N) when is_integer(N) -> N;
milliseconds(_) -> ?DEFAULT_TIMETRAP.

run([Nested | Rest], Config, Path) when is_list(Nested) ->
    run(Nested ++ Rest, Config, Path);
run([{group, Name} | Rest], Config, Path) ->
    group(Name, Config, Path),
    run(Rest, Config, Path);
run([{group, Name, _} | Rest], Config, Path) ->
    group(Name, Config, Path),
    run(Rest, Config, Path);
run([{group, Name, _, _} | Rest], Config, Path) ->
    group(Name, Config, Path),
    run(Rest, Config, Path);
run([{testcase, Case, _} | Rest], Config, Path) ->
    run([Case | Rest], Config, Path);
run([{Name, Properties, Members} | Rest], Config, Path) when is_list(Properties) ->
    members(Name, Members, Config, Path),
    run(Rest, Config, Path);
run([Case | Rest], Config, Path) when is_atom(Case) ->
    testcase(Case, Config, Path),
    run(Rest, Config, Path);
run([], _, _) ->
    ok;
run(Other, _, _) ->
    line("@suite all() gives ~w", [Other]).

group(Name, Config, Path) ->
    Suite = get(suite),
    case lists:keyfind(Name, 1, Suite:groups()) of
        {_, _, Members} -> members(Name, Members, Config, Path);
        {_, Members} -> members(Name, Members, Config, Path);
        false -> line("@suite no group ~w", [Name])
    end.

members(Name, Members, Config, Path) ->
    Suite = get(suite),
    case guarded(Suite, init_per_group, [Name, Config]) of
        {ok, GroupConfig} when is_list(GroupConfig) ->
            run(Members, GroupConfig, Path ++ [Name]),
            guarded(Suite, end_per_group, [Name, GroupConfig]);
        Other ->
            put(skip_all, Other),
            run(Members, Config, Path ++ [Name]),
            erase(skip_all)
    end.

%% A function that the suite need not have; in a process of its own, which stays until its result is
%% used, because tables and names that it makes are to live.
guarded(Suite, Function, Args) ->
    case erlang:function_exported(Suite, Function, length(Args)) of
        false ->
            {ok, lists:last(Args)};
        true ->
            Self = self(),
            {Pid, Ref} = spawn_monitor(
                           fun() ->
                                   Self ! {self(), apply(Suite, Function, Args)},
                                   %% as common_test: the process that made the configuration stays
                                   receive {Self, stop} -> ok end
                           end),
            receive
                {Pid, Result} ->
                    erlang:demonitor(Ref, [flush]),
                    {ok, Result};
                {'DOWN', Ref, process, Pid, Why} ->
                    {failed, Why}
            after 120000 ->
                    exit(Pid, kill),
                    {failed, timeout}
            end
    end.

testcase(Case, Config, Path) ->
    Number = get(number) + 1,
    put(number, Number),
    case lists:member(Number, get(done)) of
        true ->
            ok;
        false ->
            Name = lists:flatten(lists:join("/", [atom_to_list(A) || A <- Path ++ [Case]])),
            line("@begin ~w ~ts", [Number, Name]),
            {Result, Text} =
                case get(skip_all) of
                    undefined -> run_case(Case, Config);
                    Why -> {skip, Why}
                end,
            line("@end ~w ~w ~ts", [Number, Result, one_line(Text)])
    end.

run_case(Case, Config) ->
    Suite = get(suite),
    Self = self(),
    Time = case lists:keyfind(timetrap, 1, info(Suite, Case)) of
               {timetrap, T} -> milliseconds(T);
               false -> get(timetrap)
           end,
    {Pid, Ref} = spawn_monitor(fun() -> in_case(Self, Suite, Case, Config) end),
    wait(Pid, Ref, deadline(Time), none).

deadline(Time) ->
    erlang:monotonic_time(millisecond) + min(Time, get(cap)).

wait(Pid, Ref, Deadline, Status) ->
    Left = max(0, Deadline - erlang:monotonic_time(millisecond)),
    receive
        {Pid, timetrap, Time} ->
            wait(Pid, Ref, deadline(Time), Status);
        {Pid, status, New} ->
            wait(Pid, Ref, Deadline, New);
        {Pid, result, Result, Linked} ->
            erlang:demonitor(Ref, [flush]),
            kill(Pid, Linked),
            Result;
        {'DOWN', Ref, process, Pid, Why} ->
            {fail, {exited, Why}}
    after Left ->
            Trace = (catch erlang:process_info(Pid, current_stacktrace)),
            exit(Pid, kill),
            receive {'DOWN', Ref, process, Pid, _} -> ok after 10000 -> ok end,
            {timeout, Trace}
    end.

%% With what was linked to it and ends with it, so that the next testcase finds no name taken.
kill(Pid, Linked) ->
    Monitors = [erlang:monitor(process, P) || P <- Linked],
    exit(Pid, kill),
    Timer = erlang:start_timer(1000, self(), linked),
    await_ends(Monitors, Timer).

await_ends([M | Rest], Timer) ->
    receive
        {'DOWN', M, process, _, _} -> await_ends(Rest, Timer);
        {timeout, Timer, linked} -> [erlang:demonitor(R, [flush]) || R <- [M | Rest]], ok
    end;
await_ends([], Timer) ->
    erlang:cancel_timer(Timer),
    receive {timeout, Timer, linked} -> ok after 0 -> ok end.

in_case(Parent, Suite, Case, Config0) ->
    put(suite_harness, Parent),
    group_leader(whereis(suite_output), self()),
    Config1 = [{tc_name, Case} | Config0],
    case init(Suite, Case, Config1) of
        {config, Config} ->
            Result = try
                         value(Suite:Case(Config))
                     catch
                         throw:{skip, _} = Thrown -> value(Thrown);
                         Class:Reason:Trace -> {fail, {Class, Reason, Trace}}
                     end,
            Status = case Result of
                         {ok, _} -> ok;
                         {skip, Why} -> {skipped, Why};
                         {fail, Why} -> {failed, Why}
                     end,
            %% Before the suite takes leave of them.
            Linked = linked(),
            EndResult =
                case erlang:function_exported(Suite, end_per_testcase, 2) of
                    true ->
                        try Suite:end_per_testcase(Case, [{tc_status, Status} | Config]) of
                            {fail, _} = F -> F;
                            _ -> ok
                        catch C:R:S -> {fail, {end_per_testcase, C, R, S}}
                        end;
                    false ->
                        ok
                end,
            Final = case {Result, EndResult} of
                        {{ok, _}, {fail, E}} -> {fail, E};
                        _ -> Result
                    end,
            Parent ! {self(), result, Final, Linked};
        Other ->
            Parent ! {self(), result, Other, linked()}
    end,
    receive after infinity -> ok end.

linked() ->
    {links, Links} = process_info(self(), links),
    [P || P <- Links, is_pid(P)].

init(Suite, Case, Config) ->
    case erlang:function_exported(Suite, init_per_testcase, 2) of
        false ->
            {config, Config};
        true ->
            try Suite:init_per_testcase(Case, Config) of
                {skip, Why} -> {skip, Why};
                {skipped, Why} -> {skip, Why};
                {fail, Why} -> {fail, Why};
                New when is_list(New) -> {config, New};
                Other -> {fail, {init_per_testcase, Other}}
            catch
                Class:Reason:Trace -> {fail, {init_per_testcase, Class, Reason, Trace}}
            end
    end.

value({skip, Why}) -> {skip, Why};
value({skipped, Why}) -> {skip, Why};
value({skip_and_save, Why, _}) -> {skip, Why};
value({comment, Text}) -> {ok, Text};
value({failed, Why}) -> {fail, Why};
value(_) -> {ok, []}.

%% ---- asked by our ct and test_server -----------------------------------------------------------

timetrap(Time) ->
    case get(suite_harness) of
        undefined -> ok;
        Parent -> Parent ! {self(), timetrap, milliseconds(Time)}, ok
    end.

timetrap_cancel() -> timetrap({hours, 1}).

comment(_) -> ok.

line(Format, Args) ->
    io:put_chars(user, [$\n, io_lib:format(Format, Args), $\n]).

one_line(Term) ->
    Text = lists:flatten(io_lib:format("~0tP", [Term, 60])),
    [case C of $\n -> $\s; _ -> C end || C <- lists:sublist(Text, 1500)].
