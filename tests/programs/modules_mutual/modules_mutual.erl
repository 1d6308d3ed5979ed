%% Calls across modules: mutual recursion in constant stack, closures and exceptions that cross
%% them.
-module(modules_mutual).
-export([main/1, even/1, apply_twice/2, fail/1]).

main(_) ->
    io:format("~p ~p~n", [even(100000), modules_mutual_b:odd(100000)]),
    io:format("~p~n", [modules_mutual_b:twice(fun(X) -> X * 3 end, 7)]),
    io:format("~p~n", [[F(10) || F <- modules_mutual_b:adders([1, 2, 3])]]),
    Trace = try modules_mutual_b:call_back(?MODULE, fail, 3) catch throw:T:S ->
                {T, [{M, F, A, proplists:get_value(line, L)} || {M, F, A, L} <- S,
                     lists:prefix("modules_mutual", atom_to_list(M))]} end,
    io:format("~p~n", [Trace]),
    io:format("~p~n", [erlang:function_exported(modules_mutual_b, odd, 1)]),
    io:format("~p~n", [modules_mutual_b:record(5)]),
    io:format("~p~n", [try modules_mutual_b:missing() catch error:undef -> undef end]),
    io:format("~p~n", [try modules_mutual_c:f() catch error:undef -> undef end]),
    Self = self(),
    spawn(modules_mutual_b, worker, [Self, 5]),
    io:format("~p~n", [receive {worked, X} -> X end]),
    io:format("~p~n", [modules_mutual_b:module_info(attributes) =/= []]),
    io:format("~p~n", [lists:keyfind(my_attribute, 1, modules_mutual_b:module_info(attributes))]).

even(0) -> true;
even(N) -> modules_mutual_b:odd(N - 1).
apply_twice(F, X) -> F(F(X)).
fail(0) -> throw(bottom);
fail(N) -> [modules_mutual_b:call_back(?MODULE, fail, N - 1)].
