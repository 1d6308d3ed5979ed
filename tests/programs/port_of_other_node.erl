%% A port of another node can be named, but neither watched nor linked to; a name of this node may be watched.
-module(port_of_other_node).
-export([main/1]).

main(_) ->
    Port = binary_to_term(<<131, 102, 100, 0, 9, "far@nohow", 1:32, 0>>),
    io:format("~p~n", [is_port(Port)]),
    [io:format("~p ~p~n", [Name, result(F)])
     || {Name, F} <- [{monitor, fun() -> monitor(port, Port) end},
                      {monitor_tag, fun() -> monitor(port, Port, [{tag, gone}]) end},
                      {monitor_name, fun() -> monitor(port, {nobody, far@nohow}) end},
                      {monitor_own, fun() -> monitor(port, {nobody, node()}) end},
                      {link, fun() -> link(Port) end}]],
    receive {'DOWN', _, port, Object, Why} -> io:format("~p ~p~n", [Object, Why]) end,
    receive More -> io:format("~p~n", [More]) after 0 -> ok end.

result(F) ->
    try F() of
        Ref when is_reference(Ref) -> reference;
        Other -> Other
    catch
        Class:Reason -> {Class, Reason}
    end.
