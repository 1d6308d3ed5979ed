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
    down(erlang:monitor(port, Other), Other).

former(Term) ->
    Bytes = term_to_binary(Term),
    Size = byte_size(Bytes) - 4,
    <<Front:Size/binary, Creation:32>> = Bytes,
    binary_to_term(<<Front/binary, (Creation + 1):32>>).

down(Ref, Object) ->
    receive {Tag, Ref, Type, Object, Reason} -> io:format("~p ~p ~p~n", [Tag, Type, Reason]) end.
