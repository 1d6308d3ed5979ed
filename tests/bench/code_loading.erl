%% What loading costs, and whom: see code_loading.py. Each function prints lines of "name value ...".
-module(code_loading).
-export([main/1, sample/0, reset/0, results/0, hook/0]).
-nifs([sample/0, reset/0, results/0]).

-define(M, code_loading_module).

main(["pause", Mode, Seconds]) ->
    logger:set_primary_config(level, none),
    ok = erlang:load_nif(filename:join(filename:dirname(code:which(?MODULE)), "code_loading_clock"), 0),
    pause(list_to_existing_atom(Mode), list_to_integer(Seconds) * 1000);
main(["speed", Seconds | Files]) ->
    logger:set_primary_config(level, none),
    speed(list_to_integer(Seconds) * 1000, Files).

sample() -> erlang:nif_error(not_loaded).
reset() -> erlang:nif_error(not_loaded).
results() -> erlang:nif_error(not_loaded).
hook() -> ok.

%% ---- pauses ------------------------------------------------------------------------------------------

%% A process that never waits looks at the clocks all the time, while another one loads, purges and
%% deletes as fast as it can; modes: idle, reloading, tracing: that, and a third process that sets and clears
%% trace patterns on the module and on all of lists as fast as it can.
pause(Mode, Ms) ->
    Self = self(),
    _ = {idle, reloading, tracing},
    Busy = spawn(fun() -> busy(Self) end),
    Loads = start_loads(Mode),
    timer:sleep(300),  % the first loads and collections are over
    Before = waits(),
    Done0 = done(Loads),
    Busy ! reset,
    timer:sleep(Ms),
    Busy ! {results, self()},
    Results = receive {results, R} -> R end,
    Done = done(Loads) - Done0,
    After = waits(),
    io:format("loads ~w~n", [Done * 1000 div Ms]),
    [io:format("~s ~s~n", [Name, lists:join(" ", [integer_to_list(V) || V <- tuple_to_list(Vs)])])
     || {Name, Vs} <- lists:zip(["wall", "cpu"], Results)],
    [io:format("waits ~s ~w~n", [K, maps:get(K, After) - maps:get(K, Before)]) || K <- [long, preempted, short, given_up, sleeps, minor_faults, major_faults], Before =/= none],
    _ = Before =/= none andalso io:format("waits longest ~w~n# locks ~w~n", [maps:get(longest, After), maps:get(locks, After)]),
    halt(0).

waits() ->
    case erlang:function_exported(minivm, scheduler_waits, 0) of
        true -> minivm:scheduler_waits();
        false -> none
    end.

busy(Parent) -> reset(), busy_1(Parent).
busy_1(Parent) ->
    sample(), sample(), sample(), sample(),
    receive
        reset -> reset(), busy_1(Parent);
        {results, Parent} -> Parent ! {results, results()}
    after 0 ->
        busy_1(Parent)
    end.

start_loads(idle) -> none;
start_loads(tracing) ->
    spawn(fun() -> erlang:trace(self(), true, [call, {tracer, spawn(fun drop/0)}]), trace(0) end),
    start_loads(reloading);
start_loads(reloading) ->
    Counter = counters:new(1, []),
    Set = {version(1, 20), version(2, 20), on_load_version()},
    spawn(fun() -> reload(Set, Counter, 0) end),
    Counter.
done(none) -> 0;
done(Counter) -> counters:get(Counter, 1).

%% What it calls itself is traced where a pattern is set.
trace(N) ->
    [erlang:trace_pattern({M, '_', '_'}, How, [How1])
     || How1 <- [local, call_count], M <- [?M, lists], How <- [true, false]],
    N = length(lists:seq(1, N rem 10)) + N - N rem 10,
    trace(N + 1).
drop() -> receive _ -> drop() end.

reload(Set, Counter, N) ->
    {module, ?M} = code:load_binary(?M, "m", element(N rem 3 + 1, Set)),
    case N rem 5 of
        0 -> _ = code:purge(?M), true = code:delete(?M), _ = code:purge(?M);
        1 -> _ = code:soft_purge(?M);
        _ -> ok
    end,
    counters:add(Counter, 1, 1),
    reload(Set, Counter, N + 1).

%% ---- speed -------------------------------------------------------------------------------------------

speed(Ms, Files) ->
    Small = {version(1, 1), version(2, 1)},
    Large = {version(1, 400), version(2, 400)},
    [begin
         Bytes = byte_size(element(1, Set)),
         {N, Us} = repeat(fun(I) -> {module, ?M} = code:load_binary(?M, "m", element(I rem 2 + 1, Set)) end, Ms),
         io:format("load ~s ~w ~w ~w~n", [Name, N, Us, Bytes])
     end || {Name, Set} <- [{"small", Small}, {"large", Large}]],
    Real = [begin {ok, Bin} = file:read_file(F), {list_to_atom(filename:basename(F, ".beam")), Bin} end || F <- Files],
    Sum = lists:sum([byte_size(B) || {_, B} <- Real]),
    {N, Us} = repeat(fun(_) -> [true = is_reference(erlang:prepare_loading(M, B)) || {M, B} <- Real] end, Ms),
    io:format("prepare real ~w ~w ~w~n", [N, Us, Sum]),
    halt(0).

repeat(F, Ms) ->
    F(0), F(1),
    T0 = erlang:monotonic_time(microsecond),
    repeat(F, T0, T0 + Ms * 1000, 0).
repeat(F, T0, Until, N) ->
    F(N),
    case erlang:monotonic_time(microsecond) of
        Now when Now >= Until -> {N + 1, Now - T0};
        _ -> repeat(F, T0, Until, N + 1)
    end.

%% A module of so many functions, with literals, branches and calls.
version(V, Functions) -> compiled(V, Functions, []).
on_load_version() ->
    L = erl_anno:new(1),
    compiled(3, 20, [{attribute, L, on_load, {init, 0}},
                     {function, L, init, 0, [{clause, L, [], [], [{call, L, {remote, L, {atom, L, ?MODULE}, {atom, L, hook}}, []}]}]}]).
compiled(V, Functions, More) ->
    L = erl_anno:new(1),
    {Attributes, Extra} = lists:partition(fun(F) -> element(1, F) =:= attribute end, More),
    Function = fun(I) ->
                       Text = io_lib:format("f~w(X, [Y | Z]) when is_integer(X), X > ~w -> {~w, [Y, \"literal ~w of ~w\"], f~w(X - 1, Z)};\n"
                                            "f~w(#{a := A} = M, _) -> lists:reverse(maps:get(b, M, [A, <<\"bytes\">>, ~w]));\n"
                                            "f~w(X, Y) -> case X of <<A:8, B:16, _/binary>> -> A + B; {A, B} -> [A | B]; _ -> Y end.\n",
                                            [I, I, V, I, V, I, I, V, I]),
                       {ok, Tokens, _} = erl_scan:string(lists:flatten(Text)),
                       {ok, Form} = erl_parse:parse_form(Tokens),
                       Form
               end,
    Fs = [Function(I) || I <- lists:seq(1, Functions)],
    Exports = [{list_to_atom("f" ++ integer_to_list(I)), 2} || I <- lists:seq(1, Functions)],
    {ok, ?M, Bin} = compile:forms([{attribute, L, module, ?M}, {attribute, L, export, Exports}] ++ Attributes ++ Fs ++ Extra),
    Bin.
