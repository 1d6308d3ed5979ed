%% A process that named its own error handler called the usual one all the same.
-module(proc_own_error_handler).
-export([main/1, undefined_function/3, undefined_lambda/3, id/1]).

main(_) ->
    show("before", fun() -> no_such_module:f(1, 2) end),
    error_handler = process_flag(error_handler, ?MODULE),
    show("a function", fun() -> no_such_module:f(1, {2, [3]}) end),
    show("no arguments", fun() -> no_such_module:f() end),
    show("apply", fun() -> apply(id(no_such_module), id(g), id([a, "b", 3.0])) end),
    show("a known module", fun() -> lists:no_such_function(1) end),
    show("in its own module", fun() -> ?MODULE:no_such_function(x) end),
    show("a tail call", fun() -> tail(7) end),
    show("an external fun", fun() -> (fun no_such_module:h/2)(1, 2) end),
    show("many", fun() -> lists:usort(many(1000)) end),
    show("a fun", fun() -> (unloaded_fun())(id(5), id({6})) end),
    %% The handler loads what it is asked for when it hands on to the usual one.
    show("handed on", fun() -> proplists:get_value(a, [{a, 1}]) end),
    ?MODULE = process_flag(error_handler, error_handler),
    show("after", fun() -> no_such_module:f(1) end).

show(What, F) ->
    Result = try F()
             catch
                 Class:Reason:Trace ->
                     {M, G, A, _} = hd(Trace),
                     {Class, Reason, M, G, A}
             end,
    io:format("~ts: ~tp~n", [What, Result]).

tail(X) -> no_such_module:tail(X).

many(0) -> [];
many(N) ->
    Result = no_such_module:many(id(a), [b, id({c})]),
    Rest = many(N - 1),
    [Result | Rest].

%% Of a module that nobody has; as term_to_binary/1 writes funs.
unloaded_fun() ->
    Body = [2, <<1:128>>, <<0:32>>, <<1:32>>, term(no_such_fun_module), term(0), term(12345),
            term(self()), term(free)],
    Bytes = iolist_to_binary(Body),
    binary_to_term(<<131, 112, (byte_size(Bytes) + 4):32, Bytes/binary>>).

term(T) ->
    <<131, Bytes/binary>> = term_to_binary(T),
    Bytes.

undefined_function(M, F, Args) when M =:= no_such_module; F =:= no_such_function -> {handled, M, F, Args};
undefined_function(M, F, Args) -> error_handler:undefined_function(M, F, Args).

undefined_lambda(M, Fun, Args) when is_function(Fun) -> {handled_fun, M, Args}.

id(X) -> X.
