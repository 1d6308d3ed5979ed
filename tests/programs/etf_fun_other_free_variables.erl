%% A fun from outside that has the right module, index and MD5, and not the number of free variables that its function
%% takes. What erl does when such a fun is called depends on what lies behind: only minivm is asked.
-module(etf_fun_other_free_variables).
-export([start/0]).

start() ->
    F = captures(a, {b}),
    <<131, 112, _:32, 1, Uniq:16/binary, Index:32, 2:32, Rest/binary>> = term_to_binary(F),
    <<100, N:16, _:N/binary, Rest1/binary>> = Rest,
    {Old1, Rest2} = integer(Rest1),
    {Old2, Rest3} = integer(Rest2),
    FreeSize = byte_size(term_to_binary(a)) - 1 + byte_size(term_to_binary({b})) - 1,
    Pid = binary:part(Rest3, 0, byte_size(Rest3) - FreeSize),
    Make = fun(Free, Arity) ->
                   Tail = <<Arity, Uniq/binary, Index:32, (length(Free)):32, 119, N, (atom_to_binary(?MODULE))/binary,
                            Old1/binary, Old2/binary, Pid/binary,
                            << <<(plain(T))/binary>> || T <- Free>>/binary>>,
                   binary_to_term(<<131, 112, (byte_size(Tail) + 4):32, Tail/binary>>)
           end,
    Same = Make([a, {b}], 1),
    io:format("~p ~p~n", [Same(c), Same =:= F]),
    Others = [Make(Free, 1) || Free <- [[], [a], [a, b, c], lists:duplicate(255, x)]] ++
        [Make([a, {b}], A) || A <- [0, 2, 255]],
    io:format("~p~n", [[is_function(O) || O <- Others]]),
    io:format("~p~n", [[length(element(2, erlang:fun_info(O, env))) || O <- Others]]),
    Refused = case erlang:is_builtin(minivm, engine_name, 0) of
                  true -> [[refused(fun() -> O(c) end), refused(fun() -> apply(O, [c]) end),
                            refused(fun() -> lists:map(O, [1]) end)] || O <- Others];
                  false -> [[badfun, badfun, badfun] || O <- Others, is_function(O, 1)] ++
                               [[badarity, badarity, function_clause] || O <- Others, not is_function(O, 1)]
              end,
    io:format("~p~n", [Refused]),
    io:format("~p~n", [refused(fun() -> Make(lists:duplicate(256, []), 1) end)]).

captures(A, B) -> fun(C) -> [A, B, C] end.

integer(<<97, _, Rest/binary>> = All) -> {binary:part(All, 0, 2), Rest};
integer(<<98, _:32, Rest/binary>> = All) -> {binary:part(All, 0, 5), Rest};
integer(<<110, N, _, _:N/binary, Rest/binary>> = All) -> {binary:part(All, 0, N + 3), Rest}.

plain(T) ->
    <<131, Bytes/binary>> = term_to_binary(T),
    Bytes.

refused(F) ->
    try F() of
        Value -> {returned, Value}
    catch
        error:{Reason, _} -> Reason;
        error:Reason -> Reason
    end.
