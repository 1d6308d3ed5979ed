%% Readers of a persistent term while another process replaces it: each sees one whole value.
-module(persistent_race).
-export([main/1]).

main(_) ->
    persistent_term:put(?MODULE, value(0)),
    Me = self(),
    Readers = [spawn_link(fun() -> Me ! {self(), read(3000, 0)} end) || _ <- lists:seq(1, 4)],
    write(150),
    [receive {R, Result} -> io:format("~p~n", [Result]) end || R <- Readers],
    io:format("~p~n", [persistent_term:get(?MODULE) =:= value(150)]).

value(N) -> {N, lists:seq(N, N + 20), #{N => integer_to_binary(N)}, lists:sum(lists:seq(N, N + 20))}.

write(0) -> persistent_term:put(?MODULE, value(150));
write(N) ->
    persistent_term:put(?MODULE, value(N)),
    erlang:yield(),
    write(N - 1).

read(0, Last) -> is_integer(Last);
read(N, _) ->
    {K, L, M, Sum} = persistent_term:get(?MODULE),
    Sum = lists:sum(L),
    #{K := B} = M,
    K = binary_to_integer(B),
    N rem 100 =:= 0 andalso erlang:yield(),
    read(N - 1, K).
