%% Functions of erlang that are Erlang code in OTP, called in tail position: their caller is not in the
%% stack trace of their errors.
-module(exc_tail_of_library_function).
-export([main/1]).

main(_) ->
    [io:format("~p~n", [try F(A) catch error:R:S -> {R, [{M, N, Ar} || {M, N, Ar, _} <- lists:sublist(S, 2)]} end])
     || F <- [fun a/1, fun b/1, fun e/1], A <- [abc, <<"abc">>, {1}, <<255>>, <<"no such atom ever">>]].

a(X) -> atom_to_binary(X).
b(X) -> binary_to_atom(X).
e(X) -> binary_to_existing_atom(X).
