%% A monitor of a pid or port of this node's name, but of another creation, said noconnection.
-module(proc_monitor_of_former_node).
-export([main/1]).

main(_) ->
    Pid = former(self()),
    io:format("~p ~p~n", [Pid =:= self(), node(Pid)]),
    down(erlang:monitor(process, Pid), Pid),
    down(erlang:monitor(process, Pid, [{tag, mine}]), Pid),
    [Port | _] = erlang:ports() ++ [open_port({spawn, "true"}, [])],
    Other = former(Port),
    io:format("~p~n", [node(Other)]),
    down(erlang:monitor(port, Other), Other),
    %% Nothing is left of its process; nor of a monitor with a reference of that node.
    io:format("~p~n", [[is_process_alive(Pid), process_info(Pid), process_info(Pid, links),
                        erts_internal:is_system_process(Pid)]]),
    io:format("~p~n", [[caught(fun() -> F(Ref) end) || F <- [fun demonitor/1, fun(R) -> demonitor(R, [flush, info]) end],
                                                       Ref <- [former(make_ref()), of_other_node(make_ref()), make_ref()]]]).

of_other_node(Ref) ->
    binary_to_term(binary:replace(term_to_binary(Ref), <<"nonode@nohost">>, <<"nonode@nowhere">>)).

caught(F) -> try F() catch error:Reason -> Reason end.

former(Term) ->
    Bytes = term_to_binary(Term),
    Size = byte_size(Bytes) - 4,
    <<Front:Size/binary, Creation:32>> = Bytes,
    binary_to_term(<<Front/binary, (Creation + 1):32>>).

down(Ref, Object) ->
    receive {Tag, Ref, Type, Object, Reason} -> io:format("~p ~p ~p~n", [Tag, Type, Reason]) end.
