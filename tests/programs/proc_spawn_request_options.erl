%% spawn_request/N raised badarg for an unknown option; it replies badopt, as the other options in the
%% list want it.
-module(proc_spawn_request_options).
-export([main/1]).

main(_) ->
    F = fun() -> ok end,
    [io:format("~p~n", [{Options, of_call(fun() -> spawn_request(F, Options) end),
                         of_call(fun() -> spawn_request(node(), F, Options) end),
                         of_call(fun() -> spawn_request(?MODULE, main, [], Options) end)}])
     || Options <- [[monitors, links, {reply_tag, {test, 1}}], [{reply_tag, a}, bad], [bad, {reply_tag, a}],
                    [{reply, no}, bad], [bad, {reply, no}], [{reply, error_only}, bad],
                    [{reply, success_only}, bad], [bad | bad], bad, [{monitor, x}], [{reply, zz}],
                    [{priority, x}], [{reply_tag, a}, {reply, zz}, {reply_tag, b}],
                    [{reply_tag, a}, {reply_tag, b}, bad], [link, {monitor, [{tag, x} | y]}]]].

of_call(F) ->
    Result = try F() of
                 R when is_reference(R) -> reference
             catch
                 Class:Reason -> {Class, Reason}
             end,
    {Result, receive M -> setelement(2, M, reference) after 20 -> none end}.
