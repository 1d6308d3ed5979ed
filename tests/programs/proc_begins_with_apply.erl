%% A process that begins with erlang:apply/2 of what cannot be called with the arguments: the trace names apply/2.
-module(proc_begins_with_apply).
-export([main/1]).

main(_) ->
    process_flag(trap_exit, true),
    logger:set_primary_config(level, none),
    [ends(Way)
     || Way <- [{link, spawn_link, [fun(_) -> ok end]}, {opt, spawn_opt, [fun(_) -> ok end, [link]]},
                {one_less, spawn_link, [erlang, apply, [fun(_) -> ok end, []]]},
                {one_more, spawn_link, [erlang, apply, [fun() -> ok end, [a]]]},
                {export, spawn_link, [erlang, apply, [fun lists:foo/1, []]]},
                {undefined, spawn_link, [erlang, apply, [fun lists:foo/1, [a]]]},
                {no_fun, spawn_link, [erlang, apply, [foo, []]]},
                {no_list, spawn_link, [erlang, apply, [fun() -> ok end, foo]]},
                {call, spawn_link, [fun() -> (id(foo))() end]},
                {apply_3, spawn_link, [erlang, apply, [foo, bar, []]]},
                {apply_3_bad, spawn_link, [erlang, apply, [foo, bar, x]]}]].

ends({Name, F, Args}) ->
    case catch apply(erlang, F, Args) of
        Pid when is_pid(Pid) ->
            receive {'EXIT', Pid, {Reason, Stack}} -> io:format("~p: ~p ~p~n", [Name, shown(Reason), shown(Stack)]) end;
        {'EXIT', {badarg, _}} ->  % OTP 29 looks at the fun before
            io:format("~p: badarg~n", [Name])
    end.

id(X) -> X.

shown(T) when is_function(T) -> function;
shown([H | T]) -> [shown(H) | shown(T)];
shown(T) when is_tuple(T) -> list_to_tuple(shown(tuple_to_list(T)));
shown(T) -> T.
