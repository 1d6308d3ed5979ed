%% Functions that only other releases have are not there: not exported, not built in, undef when they are called.
-module(younger_functions).
-export([main/1]).

main(_) ->
    Names = [{erlang, display_nl, 0}, {erlang, display_string, 2}, {erlang, hibernate, 0}, {erlang, is_integer, 3},
             {erlang, is_record, 1}, {ets, first_lookup, 1}, {ets, last_lookup, 1}, {ets, lookup_element, 4},
             {ets, next_lookup, 2}, {ets, prev_lookup, 2}, {ets, update_element, 4}, {math, tau, 0}, {re, import, 1},
             {persistent_term, put_new, 2}, {records, create, 4}, {records, get, 2}],
    Snifs = maps:from_keys(erlang:system_info(snifs), true),
    [begin
         _ = code:ensure_loaded(M),
         There = erlang:function_exported(M, F, A),
         io:format("~p ~p ~p ~p ~p~n", [Name, There, erlang:is_builtin(M, F, A), is_map_key(Name, Snifs),
                                        There orelse called(M, F, lists:duplicate(A, x))])
     end || {M, F, A} = Name <- Names],
    %% From OTP 26 on it takes a binary.
    io:format("~p~n", [try erlang:display_string(<<>>) catch error:badarg -> badarg end]),
    %% What is no BIF is not among them: native functions of libraries, functions that are written in Erlang.
    io:format("~p~n", [[N || {M, F, A} = N <- maps:keys(Snifs),
                             lists:suffix("_nif", atom_to_list(F)) orelse lists:member({M, F, A}, [{erlang, max, 2}, {erlang, apply, 3}, {math, pi, 0}])]]).

called(M, F, Args) -> try apply(M, F, Args) catch C:R:S -> {C, R, element(4, hd(S))} end.
