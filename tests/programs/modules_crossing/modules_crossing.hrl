%% One module's half of what crosses between engines; OTHER is the module of the other engine. Both
%% halves are the same code, so that every crossing happens in both directions.
-export([ext/2, framed/2, hop/2, by_name/3, by_args/2, by_fun/3, by_closure/3, bif/2, closure/1,
         catching/2]).
-export([deep/1, deep_fun/2, deep_apply/2, fail/2, guarded/2, garbage/2, yielding/2, waiting/2,
         after_each/2, loop/1, traced/1, sleeper/2]).

%% ---- tail calls: the sum of what each call adds ----

ext(0, Sum) -> Sum;
ext(N, Sum) -> ?OTHER:ext(N - 1, Sum + ?WEIGHT).

%% out of a frame, which goes before the call
framed(0, Sum) -> Sum;
framed(N, Sum) ->
    W = weight(N),
    true = W > 0,
    ?OTHER:framed(N - 1, Sum + W).

%% two local ones between crossings
hop(0, Sum) -> Sum;
hop(N, Sum) -> hop1(N, Sum + ?WEIGHT).
hop1(N, Sum) -> hop2(N, Sum).
hop2(N, Sum) -> ?OTHER:hop(N - 1, Sum).

by_name(0, Sum, _) -> Sum;
by_name(N, Sum, M) -> M:by_name(N - 1, Sum + ?WEIGHT, ?MODULE).

by_args(0, Sum) -> Sum;
by_args(N, Sum) ->
    Args = [N - 1, Sum + ?WEIGHT],
    apply(?OTHER, by_args, Args).

by_fun(0, Sum, _) -> Sum;
by_fun(N, Sum, [F | Fs]) -> F(N - 1, Sum + ?WEIGHT, Fs ++ [F]).

%% closures of both modules, each calling the next one
closure(W) ->
    V = W * 2,
    fun(0, Sum, _) -> Sum;
       (N, Sum, [F | Fs]) -> F(N - 1, Sum + V div 2, Fs ++ [F])
    end.
by_closure(N, Sum, Fs) -> (hd(Fs))(N, Sum, tl(Fs) ++ [hd(Fs)]).

%% apply/2 with a list that only is known when it runs
bif(0, Sum) -> Sum;
bif(N, Sum) -> apply(fun ?OTHER:bif/2, lists:reverse([Sum + ?WEIGHT, N - 1])).

%% a catch that is over before the tail call
catching(0, Sum) -> Sum;
catching(N, Sum) ->
    W = try weight(N) catch _:_ -> 0 end,
    V = (catch throw(W)),
    ?OTHER:catching(N - 1, Sum + V).

weight(N) when N >= 0 -> ?WEIGHT.

%% ---- calls and returns ----

deep(0) -> 0;
deep(N) -> ?WEIGHT + ?OTHER:deep(N - 1).

deep_fun(0, _) -> 0;
deep_fun(N, F) ->
    G = fun(M) -> ?OTHER:deep_fun(M, F) end,
    F(N) + G(N - 1).

deep_apply(0, _) -> 0;
deep_apply(N, M) ->
    Args = [N - 1, ?MODULE],
    ?WEIGHT + apply(M, deep_apply, Args).

%% ---- exceptions through frames of both ----

fail(0, throw) -> throw(bottom);
fail(0, error) -> error(bottom);
fail(0, exit) -> exit(bottom);
fail(0, badmatch) -> nothing = hd([something]);
fail(0, bif) -> atom_to_list(list_to_tuple([1, 2]));
fail(0, undef) -> ?OTHER:no_such_function(1, 2);
fail(0, badfun) -> F = hd([not_a_fun]), F(1);
fail(0, badarith) -> 1 + hd([a]);
fail(N, How) -> [?WEIGHT | ?OTHER:fail(N - 1, How)].

%% every tenth frame catches and raises again
guarded(0, How) -> fail(1, How);
guarded(N, How) when N rem 10 =:= 0 ->
    try [N | ?OTHER:guarded(N - 1, How)]
    catch
        C:R when N rem 20 =:= 0 -> erlang:C({N, R});
        throw:{_, R} -> throw(R);
        C:{_, R} -> erlang:C(R)
    end;
guarded(N, How) -> [N | ?OTHER:guarded(N - 1, How)].

after_each(0, How) -> fail(0, How);
after_each(N, How) ->
    try ?OTHER:after_each(N - 1, How)
    after put(afters, get(afters) + ?WEIGHT)
    end.

%% ---- collections and yields with frames of both on the stack ----

garbage(0, Keep) ->
    erlang:garbage_collect(),
    length(Keep);
garbage(N, Keep) ->
    Here = {N, [N, float(N), {N}], <<N:32>>},
    case N rem 50 of
        0 when N < 10000 -> erlang:garbage_collect();
        _ -> ok
    end,
    R = ?OTHER:garbage(N - 1, [Here | lists:sublist(Keep, 3)]),
    {N, [N, _, {N}], <<N:32>>} = Here,
    R + ?WEIGHT.

yielding(0, _) -> erlang:yield(), 0;
yielding(N, Pid) ->
    erlang:yield(),
    R = ?OTHER:yielding(N - 1, Pid),
    erlang:yield(),
    R + ?WEIGHT.

waiting(0, Echo) -> Echo ! {self(), 0}, receive {Echo, 0} -> 0 end;
waiting(N, Echo) ->
    Echo ! {self(), N},
    R = ?OTHER:waiting(N - 1, Echo),
    receive {Echo, N} -> R + ?WEIGHT after 60000 -> error(late) end.

%% a server whose loop is in both modules
loop(N) ->
    receive
        {call, From, X} -> From ! {self(), N, X, ?WEIGHT}, ?OTHER:loop(N + 1);
        {hibernate, From} -> From ! {self(), hibernating}, erlang:hibernate(?OTHER, loop, [N + 1]);
        {fail, R} -> [N | error(R)];
        {throw, R} -> [throw(R) | N];
        stop -> exit({stopped, N})
    after 60000 -> error(late)
    end.

traced(0) ->
    {current_stacktrace, S} = process_info(self(), current_stacktrace),
    [{M, F, A} || {M, F, A, _} <- S];
traced(N) ->
    R = ?OTHER:traced(N - 1),
    R ++ [].

sleeper(0, Parent) -> Parent ! {self(), asleep}, receive go -> 0 end;
sleeper(N, Parent) -> ?WEIGHT + ?OTHER:sleeper(N - 1, Parent).
