%% Two modules of one version, loaded together again and again while processes call from one into the
%% other: nobody finds a new `a` that calls an old `b`, and an old `a` calls a new `b` only where a commit
%% fell between. Sets that are loaded for the first time are there together. Argument: commits.
-module(code_atomic).
-export([main/1]).

-define(VERSIONS, 5).  % more than can be around at once, so that old and new can be told apart

main([]) -> main(["60"]);
main([N]) ->
    logger:set_primary_config(level, none),
    Commits = list_to_integer(N),
    Workers = 2 * erlang:system_info(schedulers),
    together(Commits, Workers),
    first_time(20, Workers).

p(Name, Value) -> io:format("~w: ~0tp~n", [Name, Value]).

module(M, Lines) ->
    Forms = [begin
                 {ok, Tokens, _} = erl_scan:string(lists:flatten(L)),
                 {ok, Form} = erl_parse:parse_form(Tokens),
                 Form
             end || L <- [io_lib:format("-module(~w).", [M]) | Lines]],
    {ok, M, Bin} = compile:forms(Forms),
    Bin.

a(V) -> module(code_atomic_a, ["-export([f/0]).", io_lib:format("f() -> {~w, code_atomic_b:g(), \"literal ~w\"}.", [V, V])]).
b(V) -> module(code_atomic_b, ["-export([g/0]).", io_lib:format("g() -> {~w, [literal, <<\"of ~w\">>]}.", [V, V])]).

together(Commits, Workers) ->
    Set = list_to_tuple([{a(V), b(V)} || V <- lists:seq(0, ?VERSIONS - 1)]),
    commit(0, Set),
    Pids = [spawn_monitor(fun() -> exit(worker(0, 0)) end) || _ <- lists:seq(1, Workers)],
    Before = erlang:monotonic_time(microsecond),
    commits(1, Commits, Set),
    Us = erlang:monotonic_time(microsecond) - Before,
    io:format(standard_error, "~w commits, ~w us each~n", [Commits, Us div Commits]),
    [P ! stop || {P, _} <- Pids],
    Results = [receive {'DOWN', Ref, _, _, W} -> W end || {_, Ref} <- Pids],
    p(workers, lists:usort([case R of {ok, Calls, _} when Calls > 0 -> ok; _ -> R end || R <- Results])),
    p(last, element(1, code_atomic_a:f()) =:= Commits rem ?VERSIONS).

commits(N, Commits, _) when N > Commits -> ok;
commits(N, Commits, Set) ->
    commit(N rem ?VERSIONS, Set),
    commits(N + 1, Commits, Set).

commit(V, Set) ->
    {A, B} = element(V + 1, Set),
    Prepared = [erlang:prepare_loading(code_atomic_a, A), erlang:prepare_loading(code_atomic_b, B)],
    %% Softly: whoever is in the old code may finish, so there is never more than one commit between.
    [purge(M) || M <- [code_atomic_a, code_atomic_b]],
    ok = erlang:finish_loading(Prepared).

purge(M) -> code:soft_purge(M) orelse (erlang:yield() andalso purge(M)).

worker(Calls, Between) ->
    {A, {B, [literal, OfB]}, Text} = code_atomic_a:f(),
    true = Text =:= "literal " ++ integer_to_list(A),
    true = OfB =:= <<"of ", (integer_to_binary(B))/binary>>,
    case (B - A + ?VERSIONS) rem ?VERSIONS of
        0 -> next(Calls + 1, Between);
        1 -> next(Calls + 1, Between + 1);
        Other -> {new_a_with_old_b, A, B, Other}
    end.

%% Short time slices, and cores for all: a commit takes two rounds of all schedulers that do not sleep.
next(Calls, Between) ->
    _ = Calls rem 10 =:= 0 andalso erlang:yield(),
    _ = Calls rem 500 =:= 0 andalso receive stop -> self() ! stop after 1 -> ok end,
    receive stop -> {ok, Calls, Between}
    after 0 -> worker(Calls, Between)
    end.

first_time(N, Workers) ->
    Names = [{name("c", I), name("d", I)} || I <- lists:seq(1, N)],
    Sets = [{C, D, module(C, ["-export([f/0]).", "f() -> 1."]), module(D, ["-export([f/0]).", "f() -> 2."])} || {C, D} <- Names],
    Pids = [spawn_monitor(fun() -> exit(watch(Names)) end) || _ <- lists:seq(1, Workers)],
    [begin
         ok = erlang:finish_loading([erlang:prepare_loading(C, Bc), erlang:prepare_loading(D, Bd)]),
         erlang:yield()
     end || {C, D, Bc, Bd} <- Sets],
    p(first, lists:usort([receive {'DOWN', Ref, _, _, W} -> W end || {_, Ref} <- Pids])).

name(Prefix, I) -> list_to_atom("code_atomic_" ++ Prefix ++ integer_to_list(I)).

%% The first one looked at first: if it is there, so is the second.
watch([{C, D} | Rest] = All) ->
    case erlang:module_loaded(C) of
        false -> watch(All);
        true ->
            case {erlang:module_loaded(D), erlang:function_exported(D, f, 0), C:f(), D:f()} of
                {true, true, 1, 2} -> watch(Rest);
                Other -> {alone, C, Other}
            end
    end;
watch([]) -> ok.
