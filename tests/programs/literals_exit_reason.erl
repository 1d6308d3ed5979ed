%% Processes that end with a literal as their reason while that literal is given back: whoever hears of it has
%% a copy. A process that was ending counted as having given up its literals before it had sent its reason; if
%% it was the last one, the literal itself was sent, and its memory went to the next one.
-module(literals_exit_reason).
-export([main/1]).

main(Args) ->
    Rounds = case Args of
        [N] -> list_to_integer(N);
        [] -> 600
    end,
    put_term(0),
    %% Under a sanitizer, beside another program, 600 rounds can take minutes.
    rounds(1, Rounds, erlang:monotonic_time(second) + 12, []),
    io:format("ok~n").

put_term(N) ->
    persistent_term:put(?MODULE, {N, lists:duplicate(50, {N, N + 1})}).

%% Reasons are looked at when they come, and some rounds later.
rounds(N, Last, _, Kept) when N > Last ->
    lists:foreach(fun check/1, Kept);
rounds(N, Last, End, Kept) ->
    Self = self(),
    Dying = [spawn_monitor(fun() -> dying(Self, N * I * 7919 rem 200) end) || I <- [1, 2]],
    [receive {Pid, ready} -> ok end || {Pid, _} <- Dying],
    put_term(N),
    New = [receive {'DOWN', Ref, process, _, Reason} -> {N - 1, Reason} end || {_, Ref} <- Dying],
    lists:foreach(fun check/1, New),
    {Young, Old} = lists:split(min(40, length(Kept)), Kept),
    lists:foreach(fun check/1, Old),
    case erlang:monotonic_time(second) < End of
        true -> rounds(N + 1, Last, End, New ++ Young);
        false -> rounds(1, 0, End, New ++ Young)
    end.

%% In some time slice after the one in which it found the term, which is a long one, it ends.
dying(Parent, Slices) ->
    Big = lists:seq(1, 50000),
    Reason = persistent_term:get(?MODULE),
    Parent ! {self(), ready},
    work(Slices * 50),
    _ = erlang:phash2(Big),
    exit(Reason).

work(0) -> ok;
work(N) -> work(N - 1).

check({N, {N, L}}) ->
    50 = length(L),
    true = lists:all(fun(E) -> E =:= {N, N + 1} end, L);
check({N, {Other, _}}) ->
    io:format("the reason of ~w has become that of ~w~n", [N, Other]).
