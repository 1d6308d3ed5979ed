%% erts_debug:copy_shared/1,2: a copy in which is shared what was; a deep one costs no more than its parts.
-module(debug_copy_shared).
-export([main/1]).

main(_) ->
    List = lists:seq(1, 10),
    Terms = [a, [], {}, 17, 1 bsl 100, "abc", {List, List, List}, [List | List], #{a => List, b => List},
             binary:copy(<<"x">>, 1000), fun(X) -> {X, List} end, {self(), make_ref()}, [[List], [List]],
             maps:from_list([{N, List} || N <- lists:seq(1, 100)]), <<5:3>>, fun lists:map/2],
    [begin
         Copy = erts_debug:copy_shared(Term),
         erlang:garbage_collect(),
         %% Immediate floats and OTP's own layouts apart, both sizes are those of the term.
         io:format("~p ~p~n", [Copy =:= Term, {erts_debug:size(Copy) =:= erts_debug:size(Term),
                                               erts_debug:flat_size(Copy) =:= erts_debug:flat_size(Term)}])
     end || Term <- Terms, Literals <- [false, true], erts_debug:copy_shared(Term, Literals) =:= Term],
    %% 2 to the power of 200 leaves.
    Deep = lists:foldl(fun(_, T) -> {T, T} end, [self()], lists:seq(1, 200)),
    Copied = erts_debug:copy_shared(Deep),
    io:format("~p ~p~n", [erts_debug:size(Copied), erts_debug:same(Deep, Copied)]),
    io:format("~p~n", [[try erts_debug:copy_shared(Deep, Literals), copied catch error:Reason -> Reason end ||
                           Literals <- [true, false, foo, 1]]]),
    hibernated().

%% Of the heap of a process that hibernates is left what it needs.
hibernated() ->
    Pid = spawn_opt(fun() -> erlang:hibernate(?MODULE, no_function, []) end, [{min_heap_size, 15000}]),
    wait_until(fun() -> process_info(Pid, current_function) =:= {current_function, {erlang, hibernate, 3}} andalso
                            process_info(Pid, status) =:= {status, waiting} end),
    [{heap_size, Size}, {total_heap_size, Total}] = process_info(Pid, [heap_size, total_heap_size]),
    io:format("~p ~p~n", [Size =< 12, Total =< 12]),
    exit(Pid, kill).

wait_until(Done) ->
    case Done() of
        true -> ok;
        false -> erlang:yield(), wait_until(Done)
    end.
